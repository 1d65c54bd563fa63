/** What a role says to itself is in no request of another: a canary in all of it, looked for in every byte that the others send. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { TurnRole } from '../../lib/names.ts'
import { claudeBench } from '../support/model-server/claude-agent.ts'
import { claudeRun } from '../support/model-server/claude-run.ts'
import { plainModel } from '../support/model-server/plain-model.ts'

const bench = claudeBench()
const ROLES: readonly TurnRole[] = ['reviewer', 'fixer', 'certifier']
/** Every turn starts the tool anew. */
const RUNS = process.env['REVIEWLOOP_LONG'] ? 30 : 3

const canaries = fc.uniqueArray(fc.stringMatching(/^[a-z]{12,20}$/), { minLength: 3, maxLength: 3 })
const circumstances = fc.record({
  session_reuse: fc.boolean(),
  reviewer: fc.constantFrom('run' as const, 'turn' as const),
  /** Steps before which all transcripts are gone. */
  lost: fc.constantFrom(null, 'Review' as const, 'Fix' as const),
})

it('the reviewer and the certifier see nothing of the fixer’s conversation, nor the fixer of theirs', async () => {
  let looked = 0
  await fc.assert(
    fc.asyncProperty(canaries, circumstances, async (words, { session_reuse, reviewer, lost }) => {
      const said = Object.fromEntries(ROLES.map((role, index) => [role, `canary-${words[index]}`])) as Record<TurnRole, string>
      bench.server.requests.length = 0
      bench.server.model = plainModel({ words: ['bad', 'worse'], thoughts: (role) => said[role as TurnRole] })
      const { requests, state } = await claudeRun(bench, {
        base: { 'a.txt': 'one\n' },
        head: { 'a.txt': 'one\nbad luck\n' },
        overrides: { session_reuse, sessions: { reviewer } },
        before: (step, { artifacts }, { turn }) => {
          if (step !== lost || turn < 2) return
          for (const key of [...artifacts.objects.keys()].filter((one) => one.startsWith('transcripts/'))) artifacts.objects.delete(key)
        },
      })
      expect(state.verdict).toMatchObject({ reason: 'certified' })
      for (const role of ROLES) {
        const own = [...requests.values()].filter((turn) => turn.role === role).flatMap((turn) => turn.requests)
        // the canary is a real one: its own role's later calls carry it
        expect(own.some(({ raw }) => raw.includes(said[role]))).toBe(true)
        for (const other of ROLES.filter((one) => one !== role))
          for (const { raw } of own) {
            looked += 1
            expect(raw.includes(said[other]), `a request of the ${role} holds what the ${other} said`).toBe(false)
          }
      }
    }),
    { numRuns: RUNS },
  )
  expect(looked).toBeGreaterThan(RUNS * 10)
})
