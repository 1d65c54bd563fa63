/** A seed that fails says with what to play it again, and played again it fails the same way. */
import { exec } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { commandOf, playOrFail, wantedBy } from '../support/faults/replay.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const mutant = 'a run ends and its branch stays locked'

/** As typed at a prompt, without what this test runner left in the environment. */
const type = (command: string): Promise<{ code: number; output: string }> => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_|TEST$|REVIEWLOOP_)/.test(name)))
  return new Promise((resolve) => {
    exec(command, { cwd: root, env, maxBuffer: 10_000_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
  })
}

describe('a failing seed', () => {
  test('prints one command, and the command fails for the same', async () => {
    const said = await playOrFail({ seed: 1, mutant }).then(
      () => '',
      (error: Error) => error.message,
    )
    const command = /Play it again with: (.*)/.exec(said)?.[1] ?? ''
    expect(command).toBe(`REVIEWLOOP_FAULT_SEED=1 REVIEWLOOP_FAULT_MUTANT='${mutant}' npm test -- test/faults/whole-runs.test.ts`)
    const again = await type(command)
    expect(again.code).toBe(1)
    expect(again.output).toContain(said.split('\n')[0])
    expect(again.output).toContain(`Play it again with: ${command}`)
    expect(again.output).toContain('0 passed, 1 failed')
  }, 120_000)

  test('on real git says so in its command, and the command means what it says', () => {
    expect(commandOf({ seed: 7, git: true })).toBe(
      'REVIEWLOOP_FAULT_SEED=7 REVIEWLOOP_FAULT_GIT=1 npm test -- test/faults/whole-runs.test.ts',
    )
    expect(wantedBy({ REVIEWLOOP_FAULT_SEED: '7', REVIEWLOOP_FAULT_GIT: '1' })).toEqual({ seed: 7, git: true, mutant: undefined })
    expect(wantedBy({})).toBeNull()
  })
})
