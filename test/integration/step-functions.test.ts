/** The engine of the deployed stack: the real SDK against a server on loopback that answers as Step Functions documents it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SFNClient } from '@aws-sdk/client-sfn'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executions } from '../../lib/loop/ports.ts'
import { stepFunctions } from '../../lib/runtime/step-functions.ts'
import { RUN_ID, stateOf } from '../support/ports.ts'

const MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:reviewloop-test'
const EXECUTIONS = 'arn:aws:states:us-east-1:000000000000:execution:reviewloop-test'
const NAME = `${RUN_ID}-1`

type Body = Record<string, string>
type Answer = { status: number; body: object }
const refused = (type: string, status = 400): Answer => ({ status, body: { __type: type, message: `${type} as documented` } })

/** What it holds: executions by ARN, and tokens with what SendTaskSuccess answers to them. */
interface Held {
  executions: Map<string, { input: string; running: boolean }>
  tokens: Map<string, 'waiting' | 'TaskTimedOut' | 'TaskDoesNotExist' | 'InvalidToken'>
}

/** StartExecution is idempotent for the same name and input while the execution runs, and for nothing else. */
const OPERATIONS: Record<string, (held: Held, body: Body) => Answer> = {
  StartExecution: ({ executions }, { stateMachineArn, name, input = '' }) => {
    if (stateMachineArn !== MACHINE) return refused('StateMachineDoesNotExist')
    const arn = `${EXECUTIONS}:${name}`
    const there = executions.get(arn)
    if (there && !(there.running && isDeepStrictEqual(JSON.parse(there.input), JSON.parse(input)))) return refused('ExecutionAlreadyExists')
    if (!there) executions.set(arn, { input, running: true })
    return { status: 200, body: { executionArn: arn, startDate: 1_700_000_000 } }
  },
  StopExecution: ({ executions }, { executionArn = '' }) => {
    const there = executions.get(executionArn)
    if (!there) return refused('ExecutionDoesNotExist')
    there.running = false
    return { status: 200, body: { stopDate: 1_700_000_001 } }
  },
  SendTaskSuccess: ({ tokens }, { taskToken = '' }) => {
    const state = tokens.get(taskToken) ?? 'InvalidToken'
    if (state !== 'waiting') return refused(state)
    // A task that was answered waits no more.
    tokens.set(taskToken, 'TaskTimedOut')
    return { status: 200, body: {} }
  },
}

let server: Server
let held: Held
let calls: string[]
/** Answers in place of the operations, one a call. */
let instead: Answer[]
let client: SFNClient
let executions: Executions

beforeEach(async () => {
  held = { executions: new Map(), tokens: new Map() }
  calls = []
  instead = []
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const operation = String(request.headers['x-amz-target']).replace(/^AWSStepFunctions\./, '')
      calls.push(operation)
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body
      const answer = instead.shift() ?? OPERATIONS[operation]?.(held, body) ?? refused('UnknownOperationException')
      response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(answer.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  client = new SFNClient({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId: 'id', secretAccessKey: 'key' },
    maxAttempts: 1,
  })
  executions = stepFunctions(MACHINE, client)
})
afterEach(async () => {
  client.destroy()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const inputOf = (name: string): unknown => JSON.parse(held.executions.get(`${EXECUTIONS}:${name}`)?.input ?? 'null')

describe('starting', () => {
  test('gives the machine the state under the name of the execution', async () => {
    await executions.start(NAME, stateOf())
    expect(inputOf(NAME)).toEqual(stateOf())
  })

  test('again while it runs, starts nothing', async () => {
    await executions.start(NAME, stateOf())
    await executions.start(NAME, stateOf())
    expect([...held.executions.keys()]).toEqual([`${EXECUTIONS}:${NAME}`])
  })

  test('again with another input is no error, and the first input stands', async () => {
    await executions.start(NAME, stateOf())
    await executions.start(NAME, stateOf({ next: 'Close' }))
    expect(inputOf(NAME)).toEqual(stateOf())
  })

  test('again after it was closed, starts nothing', async () => {
    await executions.start(NAME, stateOf())
    await executions.stop(NAME)
    await executions.start(NAME, stateOf())
    expect(held.executions.get(`${EXECUTIONS}:${NAME}`)?.running).toBe(false)
  })

  test('a hundred at once are one execution', async () => {
    await Promise.all(Array.from({ length: 100 }, () => executions.start(NAME, stateOf())))
    expect(held.executions.size).toBe(1)
    expect(calls.length).toBe(100)
  })

  test('on a machine that is not there is a fault, not a start', async () => {
    await expect(stepFunctions(`${MACHINE}-2`, client).start(NAME, stateOf())).rejects.toMatchObject({ name: 'Unexpected' })
    expect(held.executions.size).toBe(0)
  })
})

describe('stopping', () => {
  test('ends the execution by its name', async () => {
    await executions.start(NAME, stateOf())
    await executions.stop(NAME)
    expect(held.executions.get(`${EXECUTIONS}:${NAME}`)?.running).toBe(false)
  })

  test('one that ended, or that never was, is no error', async () => {
    await executions.start(NAME, stateOf())
    await executions.stop(NAME)
    await expect(executions.stop(NAME)).resolves.toBeUndefined()
    await expect(executions.stop(`${RUN_ID}-9`)).resolves.toBeUndefined()
  })
})

describe('waking', () => {
  test('answers the task once; the second time it waits no more, and that is no error', async () => {
    held.tokens.set('token', 'waiting')
    await executions.wake('token')
    expect(held.tokens.get('token')).toBe('TaskTimedOut')
    await executions.wake('token')
  })

  test.each(['TaskTimedOut', 'TaskDoesNotExist', 'InvalidToken'] as const)('a token that is stale (%s) is no error', async (state) => {
    held.tokens.set('token', state)
    await executions.wake('token')
    expect(calls).toEqual(['SendTaskSuccess'])
  })
})

describe('what Step Functions refuses or cannot do', () => {
  test.each([
    [refused('ThrottlingException'), 'StoreUnavailable'],
    [refused('ExecutionLimitExceeded'), 'StoreUnavailable'],
    [refused('InternalFailure', 500), 'StoreUnavailable'],
    [{ status: 503, body: {} }, 'StoreUnavailable'],
    [refused('AccessDeniedException'), 'Unexpected'],
    [refused('InvalidName'), 'Unexpected'],
    [refused('InvalidExecutionInput'), 'Unexpected'],
  ] as const)('%o is %s, and is told of', async (answer, name) => {
    instead.push(answer)
    await expect(executions.start(NAME, stateOf())).rejects.toMatchObject({ name })
    instead.push(answer)
    await expect(executions.wake('token')).rejects.toMatchObject({ name })
  })

  test('nobody there', async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await expect(executions.start(NAME, stateOf())).rejects.toMatchObject({ name: 'StoreUnavailable' })
  })
})
