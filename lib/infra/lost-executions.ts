/** Ends of executions that no Catch can see: stopped, timed out, history limit, run-time errors. They reach record-failure as events. */
import { Duration } from 'aws-cdk-lib'
import { Rule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { Construct } from 'constructs'

export interface LostExecutionsProps {
  machine: StateMachine
  recordFailure: IFunction
  deadLetters: Queue
}

export class LostExecutions extends Construct {
  constructor(scope: Construct, id: string, { machine, recordFailure, deadLetters }: LostExecutionsProps) {
    super(scope, id)
    new Rule(this, 'Rule', {
      description: 'Executions of reviewloop that ended without Close',
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        // FAILED too, though a run that failed as it should ends there as well: record-failure finds it ended and does nothing.
        detail: { stateMachineArn: [machine.stateMachineArn], status: ['FAILED', 'ABORTED', 'TIMED_OUT'] },
      },
      targets: [new LambdaFunction(recordFailure, { deadLetterQueue: deadLetters, maxEventAge: Duration.hours(24), retryAttempts: 20 })],
    })
  }
}
