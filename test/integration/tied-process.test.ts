/** A tool that was started by a process ends with it, however that ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { spawnTied } from '../../lib/agents/tied-process.ts'

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

test('killed with what started it', async () => {
  const script = `
    const { spawnTied } = await import(${JSON.stringify(MODULE)})
    const child = spawnTied({ command: 'sleep', args: ['1000'], env: process.env, signal: new AbortController().signal }, () => {})
    console.log(child.pid)
    setInterval(() => {}, 1000)`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(starter.stdout, 'data')) as [Buffer]
  const pid = Number(said.toString())
  expect(isThere(pid)).toBe(true)
  starter.kill('SIGKILL')
  await once(starter, 'exit')
  await vi.waitFor(() => expect(isThere(pid)).toBe(false), { timeout: 20_000, interval: 20 })
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
