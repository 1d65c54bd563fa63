import { execFile, spawn } from 'node:child_process'
import { mkdtemp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { CreateTableCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDataFolder, ownDataFolder, readEngineFile, type DataFolder } from '../../lib/local/data-folder.ts'
import { dataFolderPath, socketPath, type Surroundings } from '../../lib/local/data-path.ts'
import { socketClient } from '../../lib/stores/dynamodb/client.ts'

let scratch: string
const opened: DataFolder[] = []
const kept = async (folder: Promise<DataFolder>) => {
  const it = await folder
  opened.push(it)
  return it
}
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'rl-data-'))
})
afterEach(async () => {
  for (const folder of opened.splice(0)) await folder.close()
  await rm(scratch, { recursive: true, force: true })
})

/** A process that owns the folder until it is killed. */
const ownerProcess = async (path: string) => {
  const module = new URL('../../lib/local/data-folder.ts', import.meta.url).href
  const child = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `const { ownDataFolder } = await import('${module}'); const f = await ownDataFolder(process.argv[1]); console.log(f.id); setInterval(() => {}, 1000)`,
    path,
  ])
  await once(child.stdout, 'data')
  return child
}

describe('where it is', () => {
  const around = (more: Partial<Surroundings>): Surroundings => ({
    env: {},
    platform: 'linux',
    home: '/home/ada',
    cwd: '/work',
    tmp: '/tmp',
    ...more,
  })
  test('the flag goes before the variable, the variable before the platform', () => {
    const env = { REVIEWLOOP_DATA: '/var/loop', XDG_STATE_HOME: '/state' }
    expect(dataFolderPath('here', around({ env }))).toBe('/work/here')
    expect(dataFolderPath(undefined, around({ env }))).toBe('/var/loop')
    expect(dataFolderPath(undefined, around({ env: { XDG_STATE_HOME: '/state' } }))).toBe('/state/reviewloop')
    expect(dataFolderPath(undefined, around({ env: { XDG_STATE_HOME: 'not/absolute' } }))).toBe('/home/ada/.local/state/reviewloop')
    expect(dataFolderPath(undefined, around({ platform: 'darwin' }))).toBe('/home/ada/Library/Application Support/reviewloop')
  })
  test('a socket whose path is too long moves to a private folder', () => {
    expect(socketPath('/data', 'id', around({}))).toEqual({ socket: '/data/engine.sock', privateFolder: null })
    const moved = socketPath(`/data/${'x'.repeat(120)}`, 'id', around({ tmp: '/var/tmp' }))
    expect(moved.socket).toMatch(/^\/var\/tmp\/reviewloop-[0-9a-f]{16}\/s$/)
    expect(moved.privateFolder && `${moved.privateFolder}/s`).toBe(moved.socket)
    const far = socketPath(`/data/${'x'.repeat(120)}`, 'id', around({ tmp: `/${'t'.repeat(120)}` }))
    expect(Buffer.byteLength(far.socket)).toBeLessThan(104)
  })
})

describe('owning it', () => {
  test('the folder is 0700, the socket 0600, and engine.json names both process and socket', async () => {
    const folder = await kept(ownDataFolder(join(scratch, 'data')))
    expect((await stat(folder.path)).mode & 0o777).toBe(0o700)
    expect((await stat(folder.socket)).mode & 0o777).toBe(0o600)
    expect(await readEngineFile(folder.path)).toEqual(folder.owner)
    expect(folder.owner).toMatchObject({ pid: process.pid, socket: folder.socket, id: folder.id })
  })
  test('a second owner is refused with the pid of the first', async () => {
    const folder = await kept(ownDataFolder(join(scratch, 'data')))
    await expect(ownDataFolder(folder.path)).rejects.toMatchObject({ name: 'DataFolderBusy', details: { pid: process.pid } })
  })
  test('a guest writes through the owner, and the next owner finds it on the disk', async () => {
    const owner = await kept(ownDataFolder(join(scratch, 'data')))
    const guest = await kept(openDataFolder(owner.path))
    expect(guest).toMatchObject({ owned: false, socket: owner.socket, owner: owner.owner })
    expect(guest.id).not.toBe(owner.id)
    const client = socketClient(guest.socket)
    await client.send(
      new CreateTableCommand({
        TableName: 'Things',
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      }),
    )
    await client.send(new PutItemCommand({ TableName: 'Things', Item: { pk: { S: 'a' } } }))
    client.destroy()
    await owner.close()
    const next = await kept(openDataFolder(owner.path))
    expect(next.owned).toBe(true)
    const again = socketClient(next.socket)
    expect((await again.send(new GetItemCommand({ TableName: 'Things', Key: { pk: { S: 'a' } } }))).Item).toEqual({ pk: { S: 'a' } })
    again.destroy()
  })
  test('an owner that was killed blocks nobody, and its socket is swept away', async () => {
    const path = join(scratch, 'data', 'x'.repeat(120))
    const child = await ownerProcess(path)
    const dead = await readEngineFile(path)
    await expect(ownDataFolder(path)).rejects.toMatchObject({ name: 'DataFolderBusy', details: { pid: child.pid } })
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await readEngineFile(path)).toEqual(dead)
    const folder = await kept(openDataFolder(path))
    expect(folder.owned).toBe(true)
    expect(folder.id).not.toBe(dead?.id)
    await expect(stat(dead?.socket ?? '')).rejects.toMatchObject({ code: 'ENOENT' })
    await folder.close()
    await expect(stat(folder.socket)).rejects.toMatchObject({ code: 'ENOENT' })
  })
  test('eight at once: one owner, seven guests of it', async () => {
    const path = join(scratch, 'data')
    const all = await Promise.all(Array.from({ length: 8 }, () => kept(openDataFolder(path))))
    const owners = all.filter((folder) => folder.owned)
    expect(owners).toHaveLength(1)
    expect(new Set(all.map((folder) => folder.socket)).size).toBe(1)
  })
})

describe('what it refuses', () => {
  test('a folder with files of others is left as it was', async () => {
    const path = join(scratch, 'project')
    await mkdir(path, { mode: 0o755 })
    await writeFile(join(path, 'main.c'), 'int main;')
    await expect(openDataFolder(path)).rejects.toMatchObject({ name: 'BadRequest', message: expect.stringContaining('main.c') })
    expect(await readdir(path)).toEqual(['main.c'])
    expect((await stat(path)).mode & 0o777).toBe(0o755)
  })
  test('a layout of another version', async () => {
    const folder = await ownDataFolder(join(scratch, 'data'))
    await folder.close()
    await writeFile(join(folder.path, 'version'), '99\n')
    await expect(openDataFolder(folder.path)).rejects.toMatchObject({ name: 'BadRequest', message: expect.stringContaining('layout 99') })
    expect(await readFile(join(folder.path, 'version'), 'utf8')).toBe('99\n')
  })
  test('a path that is a file', async () => {
    await writeFile(join(scratch, 'file'), '')
    await expect(openDataFolder(join(scratch, 'file'))).rejects.toMatchObject({ name: 'BadRequest' })
  })
})

test('the lock is not handed down to children', async () => {
  const folder = await ownDataFolder(join(scratch, 'data'))
  const child = execFile('sleep', ['30'])
  await folder.close()
  const next = await ownDataFolder(folder.path)
  expect(child.exitCode).toBeNull()
  await next.close()
  child.kill('SIGKILL')
})
