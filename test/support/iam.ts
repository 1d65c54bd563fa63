/** Asks an IAM simulator what a function of the template may do, by its role's policies and the bucket's. */
import { runSimulation, type Simulation } from '@cloud-copilot/iam-simulate'
import type { FunctionName } from '../../lib/names.ts'
import { functionId, ofType, only, plain, type Template } from './template.ts'

const ACCOUNT = '000000000000'

/** Pretended ARN of a resource of the template, by its type. */
const arnOf =
  (template: Template) =>
  (id: string, name: string): string => {
    const type = template.Resources[id]?.Type
    if (name !== 'Arn') return `${id}.${name}`
    if (type === 'AWS::DynamoDB::Table') return `arn:aws:dynamodb:us-east-1:${ACCOUNT}:table/${id}`
    if (type === 'AWS::S3::Bucket') return `arn:aws:s3:::${id.toLowerCase()}`
    if (type === 'AWS::IAM::Role') return `arn:aws:iam::${ACCOUNT}:role/${id}`
    if (type === 'AWS::Lambda::Function') return `arn:aws:lambda:us-east-1:${ACCOUNT}:function:${id}`
    if (type === 'AWS::Logs::LogGroup') return `arn:aws:logs:us-east-1:${ACCOUNT}:log-group:${id}:*`
    if (type === 'AWS::SQS::Queue') return `arn:aws:sqs:us-east-1:${ACCOUNT}:${id}`
    throw new Error(`no ARN for ${id} of type ${type}`)
  }

const topicArn = (id: string): string => `arn:aws:sns:us-east-1:${ACCOUNT}:${id}`

const INTRINSICS = new Set(['Ref', 'Fn::GetAtt', 'Fn::Join'])

/** A value of the template with every intrinsic in it as text. */
const resolved = (template: Template, value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((entry) => resolved(template, entry))
  if (typeof value !== 'object' || value === null) return value
  const keys = Object.keys(value)
  const { Ref } = value as { Ref?: string }
  // A topic is its ARN.
  if (Ref !== undefined && template.Resources[Ref]?.Type === 'AWS::SNS::Topic') return topicArn(Ref)
  if (keys.length === 1 && INTRINSICS.has(keys[0] ?? '')) return plain(value, arnOf(template))
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, resolved(template, entry)]))
}

type PolicyDocument = Simulation['identityPolicies'][number]['policy']

const roleOf = (template: Template, name: FunctionName): string => {
  const role = template.Resources[functionId(name)]?.Properties['Role'] as { 'Fn::GetAtt': [string, string] }
  return role['Fn::GetAtt'][0]
}

const table = (template: Template, part: string): string => {
  const [found] = ofType(template, 'AWS::DynamoDB::Table').find(([id]) => id.includes(part)) ?? []
  if (!found) throw new Error(`no table ${part}`)
  return arnOf(template)(found, 'Arn')
}

export interface Asker {
  /** Whether the function may do `action` (as `GetItem`) on items with these partition keys; none: a scan. */
  item: (name: FunctionName, part: 'Sessions' | 'Runs', action: string, ...keys: string[]) => Promise<boolean>
  /** The same of an index, by its own keys. */
  indexed: (name: FunctionName, part: 'Sessions' | 'Runs', index: string, action: string, ...keys: string[]) => Promise<boolean>
  /** Whether it may do `action` (as `GetObject`) on the object. */
  object: (name: FunctionName, action: string, key: string) => Promise<boolean>
  /** Whether it may list the bucket under the prefix. */
  list: (name: FunctionName, prefix?: string) => Promise<boolean>
  /** Anything else. */
  other: (name: FunctionName, action: string, arn: string) => Promise<boolean>
  /** Whether it may tell people by the topic. */
  publish: (name: FunctionName) => Promise<boolean>
  /** Whether it may call another function. */
  call: (name: FunctionName, other: FunctionName) => Promise<boolean>
}

/** Throws where the simulator cannot answer: a question that is not understood is no "no". */
export const asker = (template: Template): Asker => {
  const buckets = ofType(template, 'AWS::S3::BucketPolicy').map(([, { Properties }]) => Properties)
  const artifacts = buckets.find(({ Bucket }) => !JSON.stringify(Bucket).includes('AccessLogs'))
  const bucketArn = arnOf(template)(plain(artifacts?.['Bucket']), 'Arn')

  const ask = async (
    name: FunctionName,
    action: string,
    resource: string,
    context: Record<string, string | string[]>,
  ): Promise<boolean> => {
    const role = roleOf(template, name)
    const own = ofType(template, 'AWS::IAM::Policy').filter(([, { Properties }]) =>
      JSON.stringify(Properties['Roles']).includes(`"${role}"`),
    )
    const simulation: Simulation = {
      request: {
        principal: `arn:aws:sts::${ACCOUNT}:assumed-role/${role}/${name}`,
        action,
        resource: { resource, accountId: ACCOUNT },
        contextVariables: { 'aws:SecureTransport': 'true', 's3:TlsVersion': '1.3', ...context },
      },
      identityPolicies: own.map(([id, { Properties }]) => ({
        name: id,
        policy: resolved(template, Properties['PolicyDocument']) as PolicyDocument,
      })),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
      ...(action.startsWith('s3:') ? { resourcePolicy: resolved(template, artifacts?.['PolicyDocument']) as PolicyDocument } : {}),
    }
    const response = await runSimulation(simulation, {})
    if (response.resultType === 'error') throw new Error(`${name} ${action} ${resource}: ${JSON.stringify(response.errors)}`)
    return response.overallResult === 'Allowed'
  }

  return {
    item: (name, part, action, ...keys) =>
      ask(name, `dynamodb:${action}`, table(template, part), keys.length ? { 'dynamodb:LeadingKeys': keys } : {}),
    indexed: (name, part, index, action, ...keys) =>
      ask(name, `dynamodb:${action}`, `${table(template, part)}/index/${index}`, keys.length ? { 'dynamodb:LeadingKeys': keys } : {}),
    object: (name, action, key) => ask(name, `s3:${action}`, `${bucketArn}/${key}`, {}),
    list: (name, prefix) => ask(name, 's3:ListBucket', bucketArn, prefix === undefined ? {} : { 's3:prefix': prefix }),
    other: (name, action, arn) => ask(name, action, arn, {}),
    publish: (name) => ask(name, 'sns:Publish', topicArn(only(template, 'AWS::SNS::Topic')[0]), {}),
    call: (name, other) => ask(name, 'lambda:InvokeFunction', arnOf(template)(functionId(other), 'Arn'), {}),
  }
}
