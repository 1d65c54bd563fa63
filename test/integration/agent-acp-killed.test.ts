/** A run in processes that are killed in the middle of a model's call, each with a home of its own: nothing is done twice, nothing is lost. */
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { report as reportSchema } from '../../lib/loop/report.ts'
import { makeCli } from '../support/cli.ts'
import { makeChange } from '../support/git-repository.ts'
import { startChatServer, type ChatServer } from '../support/model-server/chat.ts'
import { plainChat } from '../support/model-server/plain-chat.ts'
import { qwenEnvironment } from '../support/model-server/qwen.ts'
import { processesKnowing } from '../support/processes.ts'

let server: ChatServer
let compiled: string
beforeAll(async () => {
  server = await startChatServer(plainChat())
  compiled = await mkdtemp(join(tmpdir(), 'qwen-'))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(compiled, { recursive: true, force: true })
})

test('killed in the middle of two turns and continued, with a new home each time', async () => {
  const { repository } = await makeChange({ 'a.txt': 'one\n', '.reviewloop.yaml': 'agent: acp\n' }, { 'a.txt': 'one\nbad luck\n' })
  const scratch = await realpath(await mkdtemp(join(tmpdir(), 'acp-killed-')))
  const call = async (...args: string[]) => {
    const home = await mkdtemp(join(scratch, 'home-'))
    const cli = await makeCli(repository.path, {
      HOME: home,
      TMPDIR: scratch,
      REVIEWLOOP_DATA: join(scratch, 'data'),
      ...qwenEnvironment(compiled, server.url),
    })
    return { running: cli.start(args), home, close: () => cli.close() }
  }
  try {
    const plain = plainChat()
    let dying: (() => void) | null = null
    // Requests of a run without a break: reviewer 1–3, fixer 4–7, reviewer 8–10 …
    for (const [args, last] of [
      [['run'], 5],
      [['resume'], 6],
    ] as const) {
      let count = 0
      server.model = (request, number) => {
        count += 1
        if (count < last) return plain(request, number)
        dying?.()
        return { broken: 'hang' }
      }
      const { running, close, home } = await call(...args)
      dying = () => running.child.kill('SIGKILL')
      expect((await running.ended).code).toBeNull()
      // The agent is killed with who started it.
      await vi.waitFor(async () => expect(await processesKnowing(scratch)).toEqual([]), { timeout: 60_000, interval: 100 })
      await close()
      expect(await readdir(home)).toEqual([])
    }
    server.model = plain
    const { running, close } = await call('resume', '--output', 'json')
    const ended = await running.ended
    await close()
    expect(ended.code, ended.stderr).toBe(0)
    const report = reportSchema.parse(JSON.parse(ended.stdout))
    expect(report).toMatchObject({ outcome: 'approved', reason: 'certified' })
    expect(report.turns.map(({ role, mode }) => `${role} ${mode}`)).toEqual([
      'reviewer started',
      'fixer started',
      'reviewer resumed',
      'certifier cold',
    ])
    expect(report.commits).toHaveLength(1)
    expect(await repository.git('show', `${report.fixes?.branch}:a.txt`)).toBe('one\ngood luck')
  } finally {
    await repository.close()
    await rm(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}, 300_000)
