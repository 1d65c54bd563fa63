/** The one stack. */
import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import { FUNCTION_FOLDERS, type FunctionName } from '../names.ts'
import { Api } from './api.ts'
import { Artifacts } from './artifacts.ts'
import type { Bundles } from './bundling.ts'
import { checkTimes, isImageFunction } from './functions.ts'
import { deploymentDocument } from './deployment-document.ts'
import type { LoopFunctionProps } from './loop-function.ts'
import { LoopMachine } from './loop-machine.ts'
import { Nightly } from './nightly.ts'
import { LostExecutions } from './lost-executions.ts'
import { Observability } from './observability.ts'
import { People } from './people.ts'
import type { Settings } from './settings.ts'
import { Tables } from './tables.ts'
import { TurnFunction } from './turn-function.ts'
import { ZipFunction } from './zip-function.ts'

export interface ReviewloopProps extends StackProps {
  settings: Settings
  bundles: Bundles
}

/** Events go here when nobody could be made to take them: an operator looks at them. */
const deadLetterQueue = (scope: Construct): Queue =>
  new Queue(scope, 'DeadLetters', { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, retentionPeriod: Duration.days(14) })

/** Functions that something other than the machine or the API invokes, asynchronously. */
const ASYNCHRONOUS: readonly FunctionName[] = ['RecordFailure', 'Start', 'Publish']

export class ReviewloopStack extends Stack {
  constructor(scope: Construct, id: string, { settings: given, bundles, ...props }: ReviewloopProps) {
    super(scope, id, { description: 'reviewloop: a review, fix and re-review loop for code changes', ...props })
    checkTimes()
    // Access logs arrive by bucket policy; the library's old way needs access control lists, which no bucket should have.
    this.node.setContext('@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy', true)
    const protect = given.protect ?? given.stage === 'prod'
    const settings = { ...given, protect }
    const tables = new Tables(this, 'Tables', { protect })
    const artifacts = new Artifacts(this, 'Artifacts', { protect, retention: settings.retention })
    const deadLetters = deadLetterQueue(this)
    const { topic } = new People(this, 'People', settings)

    const make = (name: FunctionName, publish?: IFunction): IFunction => {
      const code = isImageFunction(name) ? bundles.image : bundles.zip(name)
      const asynchronous = ASYNCHRONOUS.includes(name) ? { deadLetters } : {}
      const shared: LoopFunctionProps = { name, settings, tables, artifacts, topic, code, ...asynchronous, ...(publish ? { publish } : {}) }
      return isImageFunction(name) ? new TurnFunction(this, name, shared).function : new ZipFunction(this, name, shared).function
    }
    // Others call it, so it is made before them.
    const Publish = make('Publish')
    const names = (Object.keys(FUNCTION_FOLDERS) as FunctionName[]).filter((name) => name !== 'Publish')
    // Where no forge can be told anything, nobody need have it told.
    const told = settings.github || settings.repositories.some(({ forge }) => forge.kind === 'gitlab') ? Publish : undefined
    const others = Object.fromEntries(names.map((name) => [name, make(name, told)]))
    const functions = { ...others, Publish } as Record<FunctionName, IFunction>

    const { machine } = new LoopMachine(this, 'Loop', { settings, functions })
    const api = new Api(this, 'Api', { settings, deployment: deploymentDocument(settings), functions })
    new Nightly(this, 'Nightly', { settings, start: functions.Start, deadLetters })
    new LostExecutions(this, 'LostExecutions', { machine, recordFailure: functions.RecordFailure, deadLetters })
    new Observability(this, 'Observability', { stage: settings.stage, machine, api: api.api, functions, tables, deadLetters, topic })
    new CfnOutput(this, 'ApiUrl', { value: api.url })
    new CfnOutput(this, 'TopicArn', { value: topic.topicArn })
    new CfnOutput(this, 'MachineArn', { value: machine.stateMachineArn })
  }
}
