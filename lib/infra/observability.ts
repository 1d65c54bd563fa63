/** What an operator sees of a deployment: metrics by the clock, alarms, a dashboard. docs/operate.md says what to do about what is seen. */
import { Duration } from 'aws-cdk-lib'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets'
import type { Topic } from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'
import { WATCH_MINUTES } from '../names.ts'
import { Alarms } from './observability-alarms.ts'
import { Board } from './observability-dashboard.ts'
import type { Observed } from './observability-metrics.ts'

export class Observability extends Construct {
  constructor(scope: Construct, id: string, observed: Observed & { topic: Topic }) {
    super(scope, id)
    new Rule(this, 'Watch', {
      description: 'Has reviewloop say how its runs stand',
      schedule: Schedule.rate(Duration.minutes(WATCH_MINUTES)),
      // The next look is as good as this one tried again.
      targets: [new LambdaFunction(observed.functions.Watch, { retryAttempts: 0, maxEventAge: Duration.minutes(WATCH_MINUTES) })],
    })
    const { alarms } = new Alarms(this, 'Alarms', observed)
    new Board(this, 'Board', observed, alarms)
  }
}
