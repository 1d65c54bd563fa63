/** Least privilege, asked of a policy simulator: what a function must be able to do, and what it must not. */
import { describe, expect, test } from 'vitest'
import {
  budgetKey,
  executionName,
  FUNCTION_FOLDERS,
  type FunctionName,
  LISTED,
  roleKey,
  STATE_OF_ROLE,
  TABLE,
  TASK_STATES,
  TURN_ROLES,
  type TurnRole,
  turnObjectKey,
} from '../../lib/names.ts'
import { branchKeyOf } from '../../lib/loop/run-id.ts'
import { asker } from '../support/iam.ts'
import { APP_SECRET, exampleSettings, HOOK_SECRET, ofType, plain, PUSH_SECRET, SECRET, synthesize } from '../support/template.ts'

const template = synthesize()
const may = asker(template)
const FUNCTIONS = Object.keys(FUNCTION_FOLDERS) as FunctionName[]

const RUN = 'r-0123456789abcdef'
const OTHER = 'r-fedcba9876543210'
const BRANCH = branchKeyOf('https://git.example/one.git', 'main')
const key = (role: TurnRole) => roleKey(RUN, role)
const MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:reviewloop-test'
const EXECUTION = `arn:aws:states:us-east-1:000000000000:execution:reviewloop-test:${executionName(RUN, 12)}`

/** Those of which the answer is yes. */
const those = async <T>(all: readonly T[], question: (one: T) => Promise<boolean>): Promise<T[]> => {
  const answers = await Promise.all(all.map(question))
  return all.filter((_, index) => answers[index])
}
const who = (question: (name: FunctionName) => Promise<boolean>): Promise<FunctionName[]> => those(FUNCTIONS, question)

describe.each(TURN_ROLES)('the turn of the %s', (role) => {
  const name = STATE_OF_ROLE[role]
  const others = TURN_ROLES.filter((other) => other !== role)

  test('reads and writes its own item, of any run', async () => {
    for (const action of ['GetItem', 'PutItem']) {
      expect(await may.item(name, 'Sessions', action, key(role))).toBe(true)
      expect(await may.item(name, 'Sessions', action, roleKey(OTHER, role))).toBe(true)
    }
  })

  test.each(others)('cannot touch the item of the %s', async (other) => {
    const actions = ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'BatchGetItem', 'BatchWriteItem']
    expect(await those(actions, (action) => may.item(name, 'Sessions', action, key(other)))).toEqual([])
    // Nor both at once.
    expect(await those(actions, (action) => may.item(name, 'Sessions', action, key(role), key(other)))).toEqual([])
  })

  test('cannot scan, nor get around the key with a request that names none', async () => {
    const actions = ['Scan', 'GetItem', 'PutItem', 'Query', 'PartiQLSelect']
    expect(await those(actions, (action) => may.item(name, 'Sessions', action))).toEqual([])
    expect(await those(actions, (action) => may.item(name, 'Runs', action))).toEqual([])
  })

  test.each(others)('cannot read or write transcripts, work or records of the %s', async (other) => {
    const objects = (['transcripts', 'work'] as const).map((kind) => turnObjectKey(kind, other, RUN, 1, 1))
    expect(await those(objects, (object) => may.object(name, 'GetObject', object))).toEqual([])
    const records = turnObjectKey('records', other, RUN, 1, 1)
    expect(await those([...objects, records], (object) => may.object(name, 'PutObject', object))).toEqual([])
  })

  test('reads what crosses between the roles, and its own', async () => {
    const objects = [
      `source/${RUN}/n.pack`,
      turnObjectKey('changesets', 'fixer', RUN, 2, 1),
      ...TURN_ROLES.map((writer) => turnObjectKey('records', writer, RUN, 1, 1)),
      turnObjectKey('transcripts', role, RUN, 1, 1),
    ]
    expect(await those(objects, (object) => may.object(name, 'GetObject', object))).toEqual(objects)
  })

  test('writes its own records and transcripts, and deletes nothing', async () => {
    const own = (['records', 'transcripts'] as const).map((kind) => turnObjectKey(kind, role, RUN, 1, 1))
    const shared = [`source/${RUN}/n.pack`, `decisions/${RUN}/q-1.json`, `reports/${RUN}/report.json`]
    expect(await those([...own, ...shared], (object) => may.object(name, 'PutObject', object))).toEqual(own)
    expect(await those([...own, ...shared], (object) => may.object(name, 'DeleteObject', object))).toEqual([])
  })

  test('adds to the history of its own turns, and leaves run and branch alone', async () => {
    expect(await those([...TURN_ROLES.map(key), RUN, BRANCH], (item) => may.item(name, 'Runs', 'PutItem', item))).toEqual([key(role)])
    expect(await may.item(name, 'Runs', 'GetItem', RUN)).toBe(false)
  })
})

test('only the fixer writes changesets and work', async () => {
  for (const kind of ['changesets', 'work'] as const)
    expect(await who((name) => may.object(name, 'PutObject', turnObjectKey(kind, 'fixer', RUN, 2, 1)))).toEqual(['Fix'])
})

test('a decision is read by the fixer that acts on it, unfinished work by the fixer that goes on with it', async () => {
  expect(await who((name) => may.object(name, 'GetObject', `decisions/${RUN}/q-1.json`))).toEqual(['Fix', 'Decide'])
  expect(await who((name) => may.object(name, 'GetObject', turnObjectKey('work', 'fixer', RUN, 2, 1)))).toEqual(['Fix'])
})

test('run and branch items are written by who keeps them', async () => {
  expect(await who((name) => may.item(name, 'Runs', 'PutItem', RUN))).toEqual([
    'Park',
    'Decide',
    'Publish',
    'RecordFailure',
    'Close',
    'Start',
    'Answer',
    'Abort',
    'Webhook',
  ])
  expect(await who((name) => may.item(name, 'Runs', 'PutItem', BRANCH))).toEqual(['Decide', 'Publish', 'Close', 'Start', 'Webhook'])
  expect(await who((name) => may.item(name, 'Runs', 'GetItem', BRANCH))).toEqual([
    'Prepare',
    'Decide',
    'Publish',
    'Close',
    'Start',
    'Webhook',
  ])
})

test('a pattern for run items takes in no item of a role', async () => {
  for (const role of TURN_ROLES) expect(await who((name) => may.item(name, 'Runs', 'GetItem', key(role)))).toEqual([])
  expect(await who((name) => may.item(name, 'Runs', 'Query', key('fixer')))).toEqual(['Show', 'Report'])
})

test('runs are listed by Show and Watch, by the index that holds no task token, and nobody scans', async () => {
  expect(await who((name) => may.indexed(name, 'Runs', TABLE.runsByTime, 'Query', TABLE.runSk))).toEqual(['Show', 'Watch'])
  for (const keys of [[TABLE.branchSk], [key('fixer')], []])
    expect(await who((name) => may.indexed(name, 'Runs', TABLE.runsByTime, 'Query', ...keys))).toEqual([])
  expect(await who((name) => may.indexed(name, 'Runs', TABLE.runsByTime, 'Scan'))).toEqual([])
  expect(await who((name) => may.item(name, 'Runs', 'Query', TABLE.runSk))).toEqual([])
  expect(LISTED).not.toContain('token')
})

test('reports are read by Report alone of all doors, and of what runs leave it reads nothing else but records and patches', async () => {
  const objects = [
    `reports/${RUN}/report.json`,
    turnObjectKey('records', 'reviewer', RUN, 1, 1),
    `${turnObjectKey('changesets', 'fixer', RUN, 2, 1)}.patch`,
    `source/${RUN}/n.pack`,
    `decisions/${RUN}/q-1.json`,
    turnObjectKey('transcripts', 'reviewer', RUN, 1, 1),
  ]
  expect(await those(objects, (object) => may.object('Report', 'GetObject', object))).toEqual(objects.slice(0, 3))
  expect(await those(objects, (object) => may.object('Show', 'GetObject', object))).toEqual([])
  expect(await those(objects, (object) => may.object('Abort', 'GetObject', object))).toEqual([])
  expect(await those(objects, (object) => may.object('Answer', 'GetObject', object))).toEqual([objects[1]])
  for (const name of ['Show', 'Report', 'Answer', 'Abort'] as const)
    expect(await those(objects, (object) => may.object(name, 'PutObject', object))).toEqual([])
})

test('all three session items are written by Park and Close alone, and read where a run is looked at as a whole', async () => {
  const all = async (name: FunctionName, action: string) =>
    (await Promise.all(TURN_ROLES.map((role) => may.item(name, 'Sessions', action, key(role))))).every(Boolean)
  expect(await who((name) => all(name, 'PutItem'))).toEqual(['Park', 'Close'])
  expect(await who((name) => all(name, 'GetItem'))).toEqual(['Park', 'Publish', 'RecordFailure', 'Close', 'Start', 'Abort', 'Webhook'])
})

test('the git token that pushes is read by Publish alone, which reads no other', async () => {
  expect(await who((name) => may.other(name, 'secretsmanager:GetSecretValue', PUSH_SECRET))).toEqual(['Publish'])
  expect(await may.other('Publish', 'secretsmanager:GetSecretValue', SECRET)).toBe(false)
  // Where a team has one token for both, Publish reads that.
  const one = asker(synthesize(exampleSettings({ pushTokenSecret: undefined })))
  expect(await who((name) => one.other(name, 'secretsmanager:GetSecretValue', SECRET))).toEqual(['Prepare', 'Publish', 'Start', 'Webhook'])
})

test('the git token that reads is read by who asks the forge', async () => {
  expect(await who((name) => may.other(name, 'secretsmanager:GetSecretValue', SECRET))).toEqual(['Prepare', 'Start', 'Webhook'])
  expect(await who((name) => may.other(name, 'secretsmanager:GetSecretValue', SECRET.replace('git-token', 'other')))).toEqual([])
})

test('the secret of the webhooks is read by who takes them, and deliveries are kept by nobody else', async () => {
  expect(await who((name) => may.other(name, 'secretsmanager:GetSecretValue', HOOK_SECRET))).toEqual(['Webhook'])
  for (const action of ['GetItem', 'PutItem'])
    expect(await who((name) => may.item(name, 'Runs', action, 'delivery#1'))).toEqual(['Webhook'])
  for (const action of ['GetObject', 'PutObject'])
    expect(await who((name) => may.object(name, action, 'deliveries/1.json'))).toEqual(['Webhook'])
})

test('whoever takes turns, starts or ends runs changes the counters of the budgets; whoever starts them reads them', async () => {
  const counter = budgetKey('deployment')
  expect(await who((name) => may.item(name, 'Runs', 'UpdateItem', counter))).toEqual([
    'Review',
    'Fix',
    'Certify',
    'Close',
    'Start',
    'Webhook',
  ])
  expect(await who((name) => may.item(name, 'Runs', 'GetItem', counter))).toEqual(['Start', 'Webhook'])
  for (const action of ['PutItem', 'DeleteItem', 'Query']) expect(await who((name) => may.item(name, 'Runs', action, counter))).toEqual([])
  for (const other of [RUN, BRANCH, key('fixer')]) expect(await who((name) => may.item(name, 'Runs', 'UpdateItem', other))).toEqual([])
})

test('a bundle is put by whom Upload has given an address, and read by Prepare', async () => {
  expect(await who((name) => may.object(name, 'PutObject', 'uploads/0/1'))).toEqual(['Upload'])
  expect(await who((name) => may.object(name, 'GetObject', 'uploads/0/1'))).toEqual(['Prepare', 'Upload'])
})

test('people are told by Park and Close', async () => {
  expect(await who((name) => may.publish(name))).toEqual(['Park', 'Close', 'Start', 'Webhook'])
})

test('the key of the GitHub App is read by Publish alone', async () => {
  expect(await who((name) => may.other(name, 'secretsmanager:GetSecretValue', APP_SECRET))).toEqual(['Publish'])
})

test('Publish is called by who has something to tell, and no other function by any', async () => {
  const announcers = ['Prepare', 'Park', 'Decide', 'RecordFailure', 'Close', 'Start', 'Webhook']
  expect(await who((name) => may.call(name, 'Publish'))).toEqual(announcers)
  for (const other of FUNCTIONS.filter((name) => name !== 'Publish')) expect(await who((name) => may.call(name, other))).toEqual([])
  const untold = asker(synthesize(exampleSettings({ github: undefined })))
  expect(await who((name) => untold.call(name, 'Publish'))).toEqual([])
})

test('executions are started, stopped and woken by who has to', async () => {
  expect(await who((name) => may.other(name, 'states:StartExecution', MACHINE))).toEqual(['RecordFailure', 'Start', 'Abort', 'Webhook'])
  expect(await who((name) => may.other(name, 'states:StopExecution', EXECUTION))).toEqual(['RecordFailure', 'Start', 'Abort', 'Webhook'])
  expect(await who((name) => may.other(name, 'states:StartExecution', `${MACHINE}-2`))).toEqual([])
  expect(await who((name) => may.other(name, 'states:StopExecution', EXECUTION.replace('loop-test', 'loop-prod')))).toEqual([])
})

test('a token is answered by Park and by who takes answers, and only of this machine', () => {
  // The simulator goes by a list that knows no resource for this action; the service checks the machine's ARN all the same.
  const statements = ofType(template, 'AWS::IAM::Policy').flatMap(([id, { Properties }]) => {
    const { Statement } = Properties['PolicyDocument'] as { Statement: { Action: unknown; Resource: unknown }[] }
    return Statement.filter(({ Action }) => JSON.stringify(Action).includes('SendTask')).map(({ Action, Resource }) => ({
      id,
      Action,
      arn: plain(Resource),
    }))
  })
  expect(statements.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
    [/^AnswerRole/, /^ParkRole/, /^WebhookRole/].map((id) => ({
      id: expect.stringMatching(id) as string,
      Action: 'states:SendTaskSuccess',
      arn: MACHINE,
    })),
  )
})

test('only Close deletes, and lists where it deletes', async () => {
  for (const kind of ['transcripts', 'work'] as const) {
    expect(await who((name) => may.object(name, 'DeleteObject', turnObjectKey(kind, 'fixer', RUN, 1, 1)))).toEqual(['Close'])
    expect(await who((name) => may.list(name, `${kind}/fixer/${RUN}/`))).toEqual(['Close'])
  }
  const kept = ['records/reviewer', 'changesets/fixer', 'decisions', 'reports', 'source'].map((prefix) => `${prefix}/${RUN}/1.1`)
  expect(await those(kept, (object) => may.object('Close', 'DeleteObject', object))).toEqual([])
  expect(await who((name) => may.list(name))).toEqual([])
  expect(await who((name) => may.list(name, 'reports/'))).toEqual([])
})

test('reports are written by Close, decisions by Decide, sources by Prepare', async () => {
  expect(await who((name) => may.object(name, 'PutObject', `reports/${RUN}/report.json`))).toEqual(['Close'])
  expect(await who((name) => may.object(name, 'PutObject', `decisions/${RUN}/q-1.json`))).toEqual(['Decide'])
  expect(await who((name) => may.object(name, 'PutObject', `source/${RUN}/n.pack`))).toEqual(['Prepare'])
})

test('nothing goes over a connection that is not encrypted', async () => {
  const statements = JSON.stringify(ofType(template, 'AWS::S3::BucketPolicy').map(([, { Properties }]) => Properties['PolicyDocument']))
  expect(statements.match(/"Effect":"Deny","Principal":\{"AWS":"\*"\}/g)?.length).toBeGreaterThanOrEqual(2)
})

test('the machine may invoke exactly the functions of its states', () => {
  const [, policy] = ofType(template, 'AWS::IAM::Policy').find(([id]) => id.startsWith('LoopRole')) ?? []
  const { Statement } = (policy?.Properties['PolicyDocument'] ?? {}) as {
    Statement: { Action: string | string[]; Resource: { 'Fn::GetAtt': [string, string] }[] }[]
  }
  const invoke = Statement.filter(({ Action }) => JSON.stringify(Action).includes('lambda:'))
  expect(invoke.map(({ Action }) => Action)).toEqual(['lambda:InvokeFunction'])
  const invoked = invoke.flatMap(({ Resource }) => Resource.map((arn) => arn['Fn::GetAtt'][0]))
  expect(invoked.toSorted()).toEqual(TASK_STATES.map((name) => `${name}Function`).toSorted())
})

test('every function has a role of its own, and no policy of AWS on it', () => {
  const roles = FUNCTIONS.map((name) => JSON.stringify(template.Resources[`${name}Function`]?.Properties['Role']))
  expect(new Set(roles).size).toBe(FUNCTIONS.length)
  const ofAws = ofType(template, 'AWS::IAM::Role').filter(([, { Properties }]) => Properties['ManagedPolicyArns'] !== undefined)
  expect(ofAws).toEqual([])
})
