/** A tool that was started by a process ends with it, however that ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { endTied, spawnTied } from '../../lib/agents/tied-process.ts'

const MODULE = fileURLToPath(new URL('../../lib/agents/tied-process.ts', import.meta.url))
const env = { PATH: process.env['PATH'] }

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('killed with what started it, and with what it started itself', async () => {
  const script = `
    const { spawnTied } = await import(${JSON.stringify(MODULE)})
    const child = spawnTied({ command: 'sh', args: ['-c', 'sleep 1000 & echo $!; wait'], env: process.env }, () => {})
    child.stdout.on('data', (line) => console.log(child.pid, String(line)))
    setInterval(() => {}, 1000)`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(starter.stdout, 'data')) as [Buffer]
  const pids = said.toString().trim().split(/\s+/).map(Number)
  expect(pids.map(isThere)).toEqual([true, true])
  starter.kill('SIGKILL')
  await once(starter, 'exit')
  await vi.waitFor(() => expect(pids.map(isThere)).toEqual([false, false]), { timeout: 20_000, interval: 20 })
})

test('ends by itself, with its own code and words, and nobody is left waiting', async () => {
  let said = ''
  const child = spawnTied(
    { command: 'sh', args: ['-c', 'cat; echo no >&2; exit 7'], env, signal: new AbortController().signal },
    (text) => (said += text),
  )
  child.stdin.end('a line')
  const out = await child.stdout.toArray()
  if (child.exitCode === null) await once(child, 'exit')
  expect([Buffer.concat(out as Buffer[]).toString(), said.trim(), child.exitCode]).toEqual(['a line', 'no', 7])
})

test('is ended by the signal that it was given', async () => {
  const controller = new AbortController()
  const child = spawnTied({ command: 'sleep', args: ['1000'], env, signal: controller.signal }, () => undefined)
  const gone = new Promise((resolve) => {
    child.once('error', () => undefined)
    child.once('exit', (_code, signal) => resolve(signal))
  })
  controller.abort()
  expect(await gone).toBe('SIGTERM')
})

test('is ended with all that it started, though it hears no signal', async () => {
  const child = spawnTied({ command: 'sh', args: ['-c', "trap '' TERM; sleep 1000 & echo $!; wait; wait"], env }, () => undefined)
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  const own = Number(said.toString())
  child.kill('SIGTERM')
  await endTied(child, 1)
  expect(child.signalCode).toBe('SIGKILL')
  await vi.waitFor(() => expect(isThere(own)).toBe(false), { timeout: 20_000, interval: 20 })
  // it has ended already
  await endTied(child)
})

test('has ended though another process, in a group of its own, still holds its pipes', async () => {
  const script = `
    const child = require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'inherit' })
    require('node:fs').writeSync(1, String(child.pid))
    process.exit(0)`
  const tool = spawnTied({ command: process.execPath, args: ['-e', script], env }, () => undefined)
  const [said] = (await once(tool.stdout, 'data')) as [Buffer]
  const pid = Number(said.toString())
  try {
    await once(tool, 'close')
    expect(isThere(pid)).toBe(true)
  } finally {
    process.kill(pid, 'SIGKILL')
  }
})
