/** What every function has, whatever package it runs from: a role of its own with exactly its row of the access table, a log group, its environment. */
import { Duration, RemovalPolicy, Size } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  type CfnFunction,
  type Function as LambdaFunction,
  type FunctionOptions,
  type IFunction,
  LoggingFormat,
} from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import { ENV, type FunctionName, metricNamespace } from '../names.ts'
import { ACCESS } from './access.ts'
import type { Artifacts } from './artifacts.ts'
import { acpEnvironment, acpKeyStatements } from './acp.ts'
import { bedrockEnvironment, modelStatement } from './bedrock.ts'
import { claudeEnvironment, claudeStatement } from './claude.ts'
import { codexEnvironment, codexKeyStatement } from './codex.ts'
import { SIZES } from './functions.ts'
import type { Settings } from './settings.ts'
import { allowObjects, machineArn, machineStatement, tableStatement } from './statements.ts'
import type { Tables } from './tables.ts'

export interface LoopFunctionProps {
  name: FunctionName
  settings: Settings
  tables: Tables
  artifacts: Artifacts
  /** Folder of the bundle, as bundling.ts writes it. */
  code: string
  /** By which people are told. */
  topic: ITopic
  /** The function Publish, for those that call it; itself it is made before. */
  publish?: IFunction
  /** Where events of an asynchronous invocation go that failed to the end. */
  deadLetters?: Queue
}

/** Properties of a function, with its role and log group made in `scope`. */
export const functionOptions = (scope: Construct, props: LoopFunctionProps): FunctionOptions => {
  const { name, settings } = props
  const size = SIZES[name]
  const logGroup = new LogGroup(scope, 'Logs', {
    retention: settings.retention.logDays,
    removalPolicy: settings.protect ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  })
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    description: `Function ${name} of reviewloop`,
  })
  role.addToPolicy(new PolicyStatement({ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [logGroup.logGroupArn] }))
  allow(scope, role, props)
  return {
    role,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    description: `${name} of reviewloop`,
    memorySize: size.memory,
    timeout: Duration.seconds(size.timeout),
    ephemeralStorageSize: Size.mebibytes(size.disk),
    environment: environment(scope, props),
    ...(props.deadLetters ? { deadLetterQueue: props.deadLetters, maxEventAge: Duration.hours(1), retryAttempts: 2 } : {}),
  }
}

const allow = (scope: Construct, role: Role, { name, settings, tables, artifacts, topic, publish }: LoopFunctionProps): void => {
  const access = ACCESS[name]
  for (const entry of access.sessions) role.addToPolicy(tableStatement(tables.sessions.tableArn, entry))
  for (const entry of access.runs) role.addToPolicy(tableStatement(tables.runs.tableArn, entry))
  for (const action of access.machine) role.addToPolicy(machineStatement(scope, settings.stage, action))
  if (access.gitToken && settings.gitTokenSecret)
    role.addToPolicy(new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [settings.gitTokenSecret] }))
  const pushToken = settings.pushTokenSecret ?? settings.gitTokenSecret
  if (access.pushToken && pushToken)
    role.addToPolicy(new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [pushToken] }))
  if (access.githubKey && settings.github)
    role.addToPolicy(new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [settings.github.keySecret] }))
  if (access.hookSecret && settings.github?.webhookSecret)
    role.addToPolicy(new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [settings.github?.webhookSecret] }))
  if (access.notify) role.addToPolicy(new PolicyStatement({ actions: ['sns:Publish'], resources: [topic.topicArn] }))
  if (access.announce && publish)
    role.addToPolicy(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [publish.functionArn] }))
  if (access.model && settings.bedrock) role.addToPolicy(modelStatement(scope, settings.bedrock))
  if (access.model && settings.codex) role.addToPolicy(codexKeyStatement(settings.codex))
  if (access.model && settings.claude) role.addToPolicy(claudeStatement(scope, settings.claude))
  if (access.model && settings.acp) for (const statement of acpKeyStatements(settings.acp)) role.addToPolicy(statement)
  allowObjects(artifacts.bucket, role, access)
}

const environment = (
  scope: Construct,
  { name, settings, tables, artifacts, topic, publish }: LoopFunctionProps,
): Record<string, string> => {
  const values: Partial<Record<keyof typeof ENV, string | undefined>> = {
    sessionsTable: tables.sessions.tableName,
    runsTable: tables.runs.tableName,
    bucket: artifacts.bucket.bucketName,
    machine: machineArn(scope, settings.stage),
    gitTokenSecret: settings.gitTokenSecret,
    pushTokenSecret: settings.pushTokenSecret ?? settings.gitTokenSecret,
    githubKeySecret: settings.github?.keySecret,
    hookSecret: settings.github?.webhookSecret,
    topic: topic.topicArn,
    publishFunction: publish?.functionArn,
  }
  const own = Object.fromEntries(SIZES[name].env.map((key) => [key, values[key]]))
  const agents = { ...bedrockEnvironment(settings.bedrock), ...claudeEnvironment(settings.claude), ...codexEnvironment(settings.codex) }
  const common = { ...own, metrics: metricNamespace(settings.stage) }
  return ACCESS[name].model ? { ...acpEnvironment(settings.acp), ...named({ ...common, ...agents }) } : named(common)
}

/** By the variables' names, without those that have no value. */
const named = (values: Partial<Record<keyof typeof ENV, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    (Object.keys(values) as (keyof typeof ENV)[]).flatMap((key) => (values[key] === undefined ? [] : [[ENV[key], values[key]]])),
  )

/** Names that stay the same whatever surrounds the function, and that a person finds again in the template. */
export const nameInTemplate = (name: FunctionName, fn: LambdaFunction): void => {
  const resource = fn.node.defaultChild as CfnFunction
  resource.overrideLogicalId(`${name}Function`)
}
