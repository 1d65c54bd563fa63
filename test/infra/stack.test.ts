/** What the template deploys. */
import { describe, expect, test } from 'vitest'
import full from '../../examples/full.config.ts'
import { parseSettings } from '../../lib/infra/read-settings.ts'
import { SIZES } from '../../lib/infra/functions.ts'
import { ARTIFACTS, ENV, FUNCTION_FOLDERS, type FunctionName, IMAGE_FUNCTIONS, TABLE } from '../../lib/names.ts'
import { environmentOf, exampleSettings, functionId, ofType, only, SECRET, synthesize } from '../support/template.ts'

const template = synthesize()
const FUNCTIONS = Object.keys(FUNCTION_FOLDERS) as FunctionName[]
const properties = (name: FunctionName) => template.Resources[functionId(name)]?.Properties ?? {}

test.each([
  ['of the tests', template],
  ['with every setting', synthesize(parseSettings(full, 'examples/full.config.ts'))],
])('the template %s is below half of what CloudFormation, S3 and IAM take', (_what, made) => {
  const bytes = (value: unknown): number => JSON.stringify(value).length
  expect(bytes(made)).toBeLessThan(1_000_000 / 2)
  expect(Object.keys(made.Resources).length).toBeLessThan(500 / 2)
  const documents = (type: string) => ofType(made, type).map(([, { Properties }]) => bytes(Properties['PolicyDocument']))
  // Of a bucket's policy 20 KB, of the policies in a role 10,240 characters.
  expect(Math.max(...documents('AWS::S3::BucketPolicy'))).toBeLessThan(20_480 / 2)
  expect(Math.max(...documents('AWS::IAM::Policy'))).toBeLessThan(10_240 / 2)
})

test('synthesizing twice gives the same', () => {
  expect(synthesize()).toEqual(template)
})

describe('tables', () => {
  const tables = ofType(template, 'AWS::DynamoDB::Table').map(([, table]) => table.Properties)

  test('have the keys of names.ts', () => {
    const keys = tables.map(({ KeySchema }) =>
      (KeySchema as { AttributeName: string; KeyType: string }[]).map(({ AttributeName, KeyType }) => [AttributeName, KeyType]),
    )
    expect(keys).toEqual([
      [[TABLE.pk, 'HASH']],
      [
        [TABLE.pk, 'HASH'],
        [TABLE.sk, 'RANGE'],
      ],
    ])
  })

  test('are encrypted, can be restored, expire what is old', () => {
    for (const table of tables)
      expect(table).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        SSESpecification: { SSEEnabled: true },
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        TimeToLiveSpecification: { AttributeName: TABLE.ttl, Enabled: true },
      })
  })
})

test.each([
  ['test', undefined, false],
  ['prod', undefined, true],
  ['prod', false, false],
  ['test', true, true],
])('stage %s with protect %s keeps its data: %s', (stage, protect, kept) => {
  const made = synthesize(exampleSettings({ stage, protect }))
  for (const [, table] of ofType(made, 'AWS::DynamoDB::Table')) {
    expect(table.Properties['DeletionProtectionEnabled'] ?? false).toBe(kept)
    expect(table.DeletionPolicy).toBe(kept ? 'Retain' : 'Delete')
  }
  for (const [, bucket] of ofType(made, 'AWS::S3::Bucket')) expect(bucket.DeletionPolicy).toBe(kept ? 'Retain' : 'Delete')
})

test('buckets are closed, encrypted, and refuse plain connections; every kind of artifact expires', () => {
  const buckets = ofType(template, 'AWS::S3::Bucket')
  expect(buckets.length).toBe(2)
  for (const [id, { Properties }] of buckets) {
    const algorithm = id.includes('AccessLogs') ? 'AES256' : 'aws:kms'
    expect(Properties).toMatchObject({
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      BucketEncryption: { ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: algorithm } }] },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
    })
    expect(Properties).not.toHaveProperty('AccessControl')
  }
  const policies = ofType(template, 'AWS::S3::BucketPolicy').map(([, policy]) => JSON.stringify(policy.Properties))
  expect(policies.filter((policy) => policy.includes('"aws:SecureTransport":"false"')).length).toBe(2)
  const artifacts = buckets.find(([id]) => !id.includes('AccessLogs'))?.[1].Properties
  const { Rules } = (artifacts?.['LifecycleConfiguration'] ?? {}) as { Rules: { Prefix?: string; ExpirationInDays?: number }[] }
  const days = Object.fromEntries(Rules.flatMap(({ Prefix, ExpirationInDays }) => (Prefix ? [[Prefix, ExpirationInDays]] : [])))
  expect(Object.keys(days).toSorted()).toEqual(ARTIFACTS.map((kind) => `${kind}/`).toSorted())
  expect(days).toMatchObject({ 'source/': 90, 'transcripts/': 90, 'work/': 90, 'reports/': 400 })
  expect(JSON.stringify(policies).length).toBeLessThan(20_000)
})

describe.each(FUNCTIONS)('function %s', (name) => {
  test('runs from the package that design.md names, at its size', () => {
    const image = (IMAGE_FUNCTIONS as readonly string[]).includes(name)
    expect(properties(name)).toMatchObject({
      MemorySize: SIZES[name].memory,
      Timeout: SIZES[name].timeout,
      ...(image
        ? { PackageType: 'Image', Architectures: ['x86_64'], ImageConfig: { Command: [`${FUNCTION_FOLDERS[name]}.handler`] } }
        : { Runtime: 'nodejs24.x', Architectures: ['arm64'], Handler: 'index.handler' }),
    })
  })

  test('is given the variables that it needs and no others, none of them a secret', () => {
    const environment = environmentOf(template, name)
    expect(Object.keys(environment).toSorted()).toEqual([...SIZES[name].env.map((key) => ENV[key]), ENV.metrics].toSorted())
    for (const value of Object.values(environment)) expect(value).not.toBe('')
    expect(environment).not.toHaveProperty(ENV.gitToken)
  })

  test('logs to a group of its own that forgets', () => {
    const group = properties(name)['LoggingConfig'] as { LogGroup: { Ref: string } }
    expect(template.Resources[group.LogGroup.Ref]).toMatchObject({ Type: 'AWS::Logs::LogGroup', Properties: { RetentionInDays: 90 } })
    const groups = FUNCTIONS.map((other) => JSON.stringify(properties(other)['LoggingConfig']))
    expect(groups.filter((other) => other === JSON.stringify(group)).length).toBe(1)
  })
})

test('functions without a git token secret are not told of one', () => {
  const made = synthesize(exampleSettings({ gitTokenSecret: undefined, pushTokenSecret: undefined, github: undefined }))
  expect(JSON.stringify(made)).not.toContain('secretsmanager')
  expect(environmentOf(made, 'Prepare')).not.toHaveProperty(ENV.gitTokenSecret)
  expect(environmentOf(template, 'Prepare')[ENV.gitTokenSecret]).toBe(SECRET)
})

test('the machine is a Standard one under the name that functions build its ARN from; its log holds no data of runs', () => {
  const [, machine] = only(template, 'AWS::StepFunctions::StateMachine')
  expect(machine.Properties).toMatchObject({
    StateMachineName: 'reviewloop-test',
    StateMachineType: 'STANDARD',
    TracingConfiguration: { Enabled: true },
    LoggingConfiguration: { Level: 'ALL', IncludeExecutionData: false },
  })
  expect(environmentOf(template, 'Start')[ENV.machine]).toBe('arn:aws:states:us-east-1:000000000000:stateMachine:reviewloop-test')
})
