/** What every store must do, asked of each: the tables and the memory of the tests; bucket, folder and memory. */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PutItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TurnItem } from '../../lib/loop/items.ts'
import type { ArtifactStore, SessionStore } from '../../lib/loop/ports.ts'
import { socketClient } from '../../lib/stores/dynamodb/client.ts'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'
import { dynamoSessions } from '../../lib/stores/dynamodb/sessions.ts'
import { directoryArtifacts } from '../../lib/stores/directory/artifacts.ts'
import { s3Artifacts } from '../../lib/stores/s3/artifacts.ts'
import { roleKey } from '../../lib/names.ts'
import { startTables, type Tables } from '../support/tables.ts'
import { type FakeS3, startS3 } from '../support/fake-s3.ts'
import { memoryArtifacts, memorySessions } from '../support/memory-store.ts'
import { RUN_ID, stateOf, turnRecordOf } from '../support/ports.ts'
import { usageOf } from '../support/fake-agent.ts'

let tables: Tables
let s3: FakeS3
let folder: string
beforeAll(async () => {
  ;[tables, s3, folder] = await Promise.all([startTables(), startS3(), mkdtemp(join(tmpdir(), 'reviewloop-objects-'))])
})
afterAll(async () => {
  await Promise.all([tables.close(), s3.close(), rm(folder, { recursive: true })])
})

const turnItem = (change: Partial<TurnItem> = {}): TurnItem => ({
  runId: RUN_ID,
  role: 'reviewer',
  rev: 1,
  nonce: 'n1',
  epoch: 1,
  fence: 1,
  closed: false,
  session: null,
  checkpoint: null,
  done: { turn: 1, state: stateOf({ turn: 1 }), record: turnRecordOf({ usage: usageOf(0, null) }) },
  running: { turn: 2, input: stateOf(), leaseUntil: 1_700_000_000_000, owner: null },
  failed: null,
  fingerprints: [],
  ttl: 1_800_000_000,
  ...change,
})

describe.each<[string, () => SessionStore]>([
  ['the tables', () => tables.sessions],
  ['memory', () => memorySessions()],
])('items in %s', (name, store) => {
  let items: SessionStore
  let runs = 0
  let key: { runId: string; role: 'reviewer' }
  const fresh = () => {
    items ??= store()
    key = { runId: `r-${String(++runs).padStart(16, name === 'memory' ? '1' : '0')}`, role: 'reviewer' }
    return (change: Partial<TurnItem> = {}) => turnItem({ runId: key.runId, ...change })
  }

  it('there is none until it is written, and then it is as it was written', async () => {
    const item = fresh()()
    expect(await items.read(key)).toBeNull()
    expect(await items.write(key, item)).toBe(true)
    expect(await items.read(key)).toEqual(item)
  })

  it('the first version is written once', async () => {
    const item = fresh()
    await items.write(key, item())
    expect(await items.write(key, item({ nonce: 'other' }))).toBe(false)
    expect(await items.read(key)).toEqual(item())
  })

  it('a version is written over the one before it and no other', async () => {
    const item = fresh()
    expect(await items.write(key, item({ rev: 2 }))).toBe(false)
    await items.write(key, item())
    expect(await items.write(key, item({ rev: 3, nonce: 'n3' }))).toBe(false)
    expect(await items.write(key, item({ rev: 2, nonce: 'n2' }))).toBe(true)
    expect(await items.write(key, item({ rev: 2, nonce: 'late' }))).toBe(false)
    expect((await items.read(key))?.nonce).toBe('n2')
  })

  it('of many at once one wins', async () => {
    const item = fresh()
    await items.write(key, item())
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => items.write(key, item({ rev: 2, nonce: `racer ${at}` }))))
    expect(answers.filter(Boolean)).toHaveLength(1)
    expect((await items.read(key))?.nonce).toBe(`racer ${answers.indexOf(true)}`)
  })

  it('a write that took and whose answer was lost is recognised by its nonce', async () => {
    const item = fresh()
    await items.write(key, item())
    expect(await items.write(key, item())).toBe(true)
    await items.write(key, item({ rev: 2, nonce: 'n2' }))
    expect(await items.write(key, item({ rev: 2, nonce: 'n2' }))).toBe(true)
    expect(await items.write(key, item())).toBe(false)
  })

  it('roles of a run have items of their own', async () => {
    const item = fresh()
    await items.write(key, item())
    expect(await items.read({ ...key, role: 'fixer' })).toBeNull()
  })
})

describe('the tables alone', () => {
  it('are made once: what is there stays', async () => {
    const item = turnItem({ runId: `r-${'e'.repeat(16)}` })
    await tables.sessions.write(item, item)
    await createTables(tables.client, tables.names)
    expect(await tables.sessions.read(item)).toEqual(item)
  })

  it('a table that does not answer is StoreUnavailable', async () => {
    const client = socketClient(join(folder, 'no-socket'))
    const gone = dynamoSessions({ client, table: tables.names.sessions })
    await expect(gone.read({ runId: RUN_ID, role: 'reviewer' })).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await expect(gone.write({ runId: RUN_ID, role: 'reviewer' }, turnItem())).rejects.toMatchObject({ name: 'StoreUnavailable' })
    client.destroy()
  })

  it.each(['ProvisionedThroughputExceededException', 'ThrottlingException', 'InternalServerError'])(
    '%s is StoreUnavailable',
    async (name) => {
      const { client, sessions } = tables.another()
      client.middlewareStack.add(
        () => () => Promise.reject(Object.assign(new Error(name), { name, ...(name.startsWith('Internal') && { $fault: 'server' }) })),
        { step: 'build' },
      )
      await expect(sessions.read({ runId: RUN_ID, role: 'reviewer' })).rejects.toMatchObject({ name: 'StoreUnavailable' })
    },
  )

  it('a table that is not there is no passing trouble, and is named', async () => {
    const none = dynamoSessions({ client: tables.client, table: 'NoSuchTable' })
    await expect(none.read({ runId: RUN_ID, role: 'reviewer' })).rejects.toMatchObject({
      name: 'Unexpected',
      message: expect.stringContaining('NoSuchTable'),
    })
  })

  it('an item that does not fit its schema is refused, not passed on', async () => {
    const item = turnItem({ runId: `r-${'d'.repeat(16)}` })
    const Item = marshall({ ...item, pk: roleKey(item.runId, item.role), surprise: true })
    await tables.client.send(new PutItemCommand({ TableName: tables.names.sessions, Item }))
    await expect(tables.sessions.read(item)).rejects.toMatchObject({ name: 'Unexpected', message: expect.stringContaining('does not fit') })
  })

  it('what could not be read again is not written: one step fails of it, and not every step after', async () => {
    const item = turnItem({ runId: `r-${'f'.repeat(16)}` })
    const refused = tables.sessions.write(item, { ...item, fence: -1 })
    await expect(refused).rejects.toMatchObject({ name: 'Unexpected', message: expect.stringContaining('does not fit') })
    expect(await tables.sessions.read(item)).toBeNull()
  })

  it('an item whose SDK retries a write that took is written once', async () => {
    const { client, sessions } = tables.another()
    let sent = 0
    client.middlewareStack.add(
      (next) => async (args) => {
        const answer = await next(args)
        // The first answer is lost on the way: the SDK sends the same write again.
        if (++sent === 1) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET', name: 'TimeoutError' })
        return answer
      },
      { step: 'deserialize', priority: 'low' },
    )
    const item = turnItem({ runId: `r-${'c'.repeat(16)}` })
    expect(await sessions.write(item, item)).toBe(true)
    expect(sent).toBeGreaterThanOrEqual(2)
    expect(await tables.sessions.read(item)).toEqual(item)
  })
})

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (found: Uint8Array | null): string | null => found && new TextDecoder().decode(found)

describe.each<[string, () => ArtifactStore]>([
  ['a bucket', () => s3Artifacts(s3)],
  ['a folder', () => directoryArtifacts(join(folder, 'objects'))],
  ['memory', () => memoryArtifacts()],
])('objects in %s', (_name, store) => {
  it('are as they were put, byte for byte; what was never put is null', async () => {
    const objects = store()
    const all = Uint8Array.from({ length: 256 }, (_, at) => at)
    await objects.put('records/reviewer/r-1/1.1', all)
    expect(Buffer.from((await objects.get('records/reviewer/r-1/1.1')) ?? [])).toEqual(Buffer.from(all))
    expect(await objects.get('records/reviewer/r-1/1.2')).toBeNull()
    expect(await objects.get('records/reviewer/r-1')).toBeNull()
    await objects.put('work/empty', new Uint8Array())
    expect(text(await objects.get('work/empty'))).toBe('')
  })

  it('are immutable: the same again is no fault, other bytes are StoreConflict and change nothing', async () => {
    const objects = store()
    await objects.put('records/fixer/r-2/1.1', bytes('one'))
    await objects.put('records/fixer/r-2/1.1', bytes('one'))
    await expect(objects.put('records/fixer/r-2/1.1', bytes('two'))).rejects.toMatchObject({ name: 'StoreConflict' })
    expect(text(await objects.get('records/fixer/r-2/1.1'))).toBe('one')
  })

  it('of two that put different bytes at once, one is stored whole', async () => {
    const objects = store()
    const puts = ['a', 'b', 'c'].map((letter) => objects.put('records/fixer/r-3/1.1', bytes(letter.repeat(100_000))))
    const outcomes = await Promise.allSettled(puts)
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
    expect(new Set(text(await objects.get('records/fixer/r-3/1.1')))).toHaveProperty('size', 1)
  })

  it('are deleted by the start of their keys, all of them and no others; nothing there is no error', async () => {
    const objects = store()
    const own = Array.from({ length: 5 }, (_, at) => `transcripts/reviewer/r-4/${at}.1`)
    const others = ['transcripts/reviewer/r-44/1.1', 'transcripts/fixer/r-4/1.1', 'records/reviewer/r-4/1.1']
    for (const key of [...own, ...others]) await objects.put(key, bytes(key))
    await objects.deleteAll('transcripts/reviewer/r-4/')
    await objects.deleteAll('transcripts/reviewer/r-4/')
    await objects.deleteAll('transcripts/nobody/')
    for (const key of own) expect(await objects.get(key)).toBeNull()
    for (const key of others) expect(text(await objects.get(key))).toBe(key)
    await objects.deleteAll('transcripts/reviewer/r-4')
    expect(await objects.get('transcripts/reviewer/r-44/1.1')).toBeNull()
    expect(text(await objects.get('transcripts/fixer/r-4/1.1'))).not.toBeNull()
  })
})

describe.each<[string, () => ArtifactStore]>([
  ['a bucket', () => s3Artifacts(s3)],
  ['a folder', () => directoryArtifacts(join(folder, 'objects'))],
])('keys of %s', (_name, store) => {
  it.each(['', '/', '..', '../x', 'a/../../x', '/etc/passwd', 'a//b', 'a/', 'a/./b', 'a\\b', 'a\0b', '.hidden', 'a/.b', 'a'.repeat(600)])(
    '%j is none',
    async (key) => {
      const objects = store()
      await expect(objects.put(key, bytes('x'))).rejects.toMatchObject({ name: 'BadRequest' })
      await expect(objects.get(key)).rejects.toMatchObject({ name: 'BadRequest' })
    },
  )
})

describe.each<[string, () => ArtifactStore]>([
  ['a bucket', () => s3Artifacts(s3)],
  ['a folder', () => directoryArtifacts(join(folder, 'objects'))],
])('the start of keys of %s', (_name, store) => {
  it.each(['', '/', '..', '../', 'a/../..', '/etc/', 'a//', '.hidden'])('%j is none: nothing is deleted', async (prefix) => {
    await expect(store().deleteAll(prefix)).rejects.toMatchObject({ name: 'BadRequest' })
  })
})

describe('the folder alone', () => {
  it('is its owner’s, and so is every object', async () => {
    const root = join(folder, 'private')
    await directoryArtifacts(root).put('records/x', bytes('x'))
    for (const [path, mode] of [
      ['', 0o700],
      ['records', 0o700],
      ['records/x', 0o600],
    ] as const)
      expect((await stat(join(root, path))).mode & 0o777).toBe(mode)
  })

  it('shows no half-written object, and leaves none behind', async () => {
    const root = join(folder, 'drafts')
    const objects = directoryArtifacts(root)
    await objects.put('records/x', bytes('x'))
    await objects.put('records/x', bytes('y')).catch(() => undefined)
    expect(await readdir(join(root, 'records'))).toEqual(['x'])
    // What a process that died left is no object, and goes with the rest.
    await writeFile(join(root, 'records', '.draft'), 'half')
    await expect(objects.get('records/.draft')).rejects.toMatchObject({ name: 'BadRequest' })
    await objects.deleteAll('records/')
    expect(await readdir(root)).toEqual([])
  })

  it('a place that cannot be written is Unexpected, with the object named', async () => {
    const root = join(folder, 'a-file')
    await writeFile(root, '')
    const put = directoryArtifacts(root).put('records/x', bytes('x'))
    await expect(put).rejects.toMatchObject({ name: 'Unexpected', message: expect.stringContaining('records/x') })
  })
})

describe('the bucket alone', () => {
  it.each([
    [503, 'SlowDown', 'StoreUnavailable'],
    [500, 'InternalError', 'StoreUnavailable'],
    [409, 'ConditionalRequestConflict', 'StoreConflict'],
    [403, 'AccessDenied', 'Unexpected'],
  ])('%d %s is %s', async (status, code, name) => {
    s3.failNext = { status, code }
    await expect(s3Artifacts(s3).put('records/failing', bytes('x'))).rejects.toMatchObject({ name })
  })

  it('a bucket that does not answer is StoreUnavailable', async () => {
    const gone = await startS3()
    await gone.close()
    const again = await startS3()
    await again.close()
    await expect(s3Artifacts(again).get('records/x')).rejects.toMatchObject({ name: 'StoreUnavailable' })
  })
})
