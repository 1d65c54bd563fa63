/** The state machine: a Standard one, so that it can wait for weeks and its history can be read. */
import { Aws, RemovalPolicy, Validations } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { DefinitionBody, LogLevel, StateMachine, StateMachineType } from 'aws-cdk-lib/aws-stepfunctions'
import { Construct } from 'constructs'
import { TASK_STATES, type TaskState } from '../names.ts'
import { loopDefinition } from './loop-definition.ts'
import type { Settings } from './settings.ts'
import { machineName } from './statements.ts'

export interface LoopMachineProps {
  settings: Settings
  functions: Record<TaskState, IFunction>
}

export class LoopMachine extends Construct {
  readonly machine: StateMachine

  constructor(scope: Construct, id: string, { settings, functions }: LoopMachineProps) {
    super(scope, id)
    const definition = loopDefinition((state) => functions[state].functionArn, Aws.PARTITION)
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('states.amazonaws.com') })
    role.addToPolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: TASK_STATES.map((state) => functions[state].functionArn) }),
    )
    this.machine = new StateMachine(this, 'Machine', {
      stateMachineName: machineName(settings.stage),
      stateMachineType: StateMachineType.STANDARD,
      // The library's own stringify drops null, and `ResultPath: null` is what keeps the run's state over Park.
      definitionBody: DefinitionBody.fromString(JSON.stringify(definition)),
      role,
      tracingEnabled: true,
      logs: {
        destination: new LogGroup(this, 'Logs', {
          logGroupName: `/aws/vendedlogs/states/${machineName(settings.stage)}`,
          retention: settings.retention.logDays,
          removalPolicy: settings.protect ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
        }),
        level: LogLevel.ALL,
        includeExecutionData: false,
      },
      removalPolicy: RemovalPolicy.DESTROY,
    })
    Validations.of(role).acknowledge({
      id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
      reason: 'Log delivery and X-Ray know no resources: their actions take no narrower one than *.',
    })
  }
}
