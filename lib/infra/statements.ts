/** Rows of the access table as IAM statements, written out: no grant of the library's is wide enough to need a look and narrow enough to keep. */
import { ArnFormat, Stack } from 'aws-cdk-lib'
import { ArnPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import type { Access, TableAccess } from './access.ts'

/** The partition keys of the request must all be like `keys`, and there must be some: a scan names none. */
export const tableStatement = (tableArn: string, access: TableAccess): PolicyStatement =>
  new PolicyStatement({
    effect: Effect.ALLOW,
    actions: access.actions.map((action) => `dynamodb:${action}`),
    resources: [access.index ? `${tableArn}/index/${access.index}` : tableArn],
    conditions: {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [...access.keys] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    },
  })

export const machineName = (stage: string): string => `reviewloop-${stage}`

/** Built from the name: functions that start the machine are invoked by it, and a reference would be a circle. */
export const machineArn = (scope: Construct, stage: string): string =>
  Stack.of(scope).formatArn({
    service: 'states',
    resource: 'stateMachine',
    resourceName: machineName(stage),
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  })

/** Executions are named `<run>-<epoch>`; epochs beyond three digits are not stopped by name, and end as stale by themselves. */
const executionArns = (scope: Construct, stage: string): string[] =>
  ['?', '??', '???'].map((epoch) =>
    Stack.of(scope).formatArn({
      service: 'states',
      resource: 'execution',
      resourceName: `${machineName(stage)}:r-${'?'.repeat(16)}-${epoch}`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    }),
  )

/** `SendTaskSuccess` too is checked against the machine's ARN, though the reference of actions lists no resource for it. */
export const machineStatement = (scope: Construct, stage: string, action: Access['machine'][number]): PolicyStatement =>
  new PolicyStatement({
    actions: [`states:${action}`],
    resources: action === 'StopExecution' ? executionArns(scope, stage) : [machineArn(scope, stage)],
  })

/**
 * Objects are granted in the bucket's own policy, to the one role. Without `ListBucket` S3 says "denied" instead of
 * "not there" for a missing object: nobody but who deletes may list, and only where it deletes.
 */
export const allowObjects = (bucket: IBucket, role: IRole, access: Pick<Access, 'get' | 'put' | 'delete'>): void => {
  const principals = [new ArnPrincipal(role.roleArn)]
  const under = (prefixes: readonly string[]) => prefixes.map((prefix) => bucket.arnForObjects(`${prefix}/*`))
  const allow = (actions: string[], prefixes: readonly string[]) => {
    if (prefixes.length) bucket.addToResourcePolicy(new PolicyStatement({ principals, actions, resources: under(prefixes) }))
  }
  allow(['s3:GetObject'], [...new Set([...access.get, ...access.put])])
  allow(['s3:PutObject'], access.put)
  allow(['s3:DeleteObject'], access.delete)
  if (access.delete.length)
    bucket.addToResourcePolicy(
      new PolicyStatement({
        principals,
        actions: ['s3:ListBucket'],
        resources: [bucket.bucketArn],
        conditions: { StringLike: { 's3:prefix': access.delete.map((prefix) => `${prefix}/*`) } },
      }),
    )
}
