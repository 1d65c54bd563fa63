/** A run in processes that are killed in the middle of a model's call, each with a home of its own: nothing is done twice, nothing is lost. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { report as reportSchema } from '../../lib/loop/report.ts'
import { makeCli } from '../support/cli.ts'
import { makeChange } from '../support/git-repository.ts'
import { startModelServer, type ModelServer } from '../support/model-server/openai.ts'
import { plainModel } from '../support/model-server/openai-plain-model.ts'
import { processesKnowing } from '../support/processes.ts'

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer(plainModel())
})
afterAll(() => server[Symbol.asyncDispose]())

test('killed in the middle of three turns and continued, with a new home each time', async () => {
  const { repository } = await makeChange({ 'a.txt': 'one\n', '.reviewloop.yaml': 'agent: codex\n' }, { 'a.txt': 'one\nbad luck\n' })
  const homes: string[] = []
  const data = await makeCli(repository.path)
  const call = async (...args: string[]) => {
    const [home, temporary] = await Promise.all(['home', 'temporary'].map((name) => mkdtemp(join(tmpdir(), `reviewloop-${name}-`))))
    if (home === undefined || temporary === undefined) throw new Error('no folder was made')
    homes.push(home, temporary)
    const cli = await makeCli(repository.path, {
      HOME: home,
      TMPDIR: temporary,
      REVIEWLOOP_DATA: join(data.scratch, 'data'),
      REVIEWLOOP_AGENTS: process.env['REVIEWLOOP_AGENTS'] ?? '',
      REVIEWLOOP_CODEX_MODEL: 'test-model',
      REVIEWLOOP_CODEX_BASE_URL: server.url,
      OPENAI_API_KEY: 'a-key-of-openai',
    })
    return { running: cli.start(args), close: () => cli.close(), home, temporary }
  }
  try {
    const plain = plainModel({ words: ['bad', 'worse'] })
    // Requests of a run without a break: reviewer 1–2, fixer 3–5, reviewer 6–7, fixer 8–10 …
    let dying: (() => void) | null = null
    for (const [args, last] of [
      [['run'], 2],
      [['resume'], 4],
      [['resume'], 5],
    ] as const) {
      let count = 0
      server.model = (request, number) => {
        count += 1
        if (count < last) return plain(request, number)
        dying?.()
        return { broken: 'hang' }
      }
      const { running, close, temporary } = await call(...args)
      dying = () => running.child.kill('SIGKILL')
      expect((await running.ended).code).toBeNull()
      // The tool has nobody left to talk to, and ends by itself.
      await vi.waitFor(async () => expect(await processesKnowing(temporary)).toEqual([]), { timeout: 60_000, interval: 100 })
      await close()
    }
    server.model = plain
    const { running, close, home, temporary } = await call('resume', '--output', 'json')
    const ended = await running.ended
    await close()
    expect(ended.code, ended.stderr).toBe(0)
    const report = reportSchema.parse(JSON.parse(ended.stdout))
    expect(report).toMatchObject({ outcome: 'approved', reason: 'certified' })
    expect(report.turns.map(({ role }) => role)).toEqual(['reviewer', 'fixer', 'reviewer', 'fixer', 'reviewer', 'certifier'])
    expect(report.turns.map(({ mode }) => mode)).toEqual(['started', 'started', 'resumed', 'resumed', 'resumed', 'cold'])
    expect(report.commits).toHaveLength(2)
    expect(await repository.git('show', `${report.fixes?.branch}:a.txt`)).toBe('one\ngood luck')
    // A process that comes to its end leaves nothing of the tool's.
    expect([await readdir(home), await readdir(temporary)]).toEqual([[], []])
  } finally {
    await data.close()
    await repository.close()
    for (const home of homes) await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
})
