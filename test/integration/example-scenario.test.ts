/** The example can be played as its comment says. */
import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/git-repository.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('the scenario of two rounds is played to its end by the commands that stand in it', async () => {
  const text = await readFile(join(root, 'examples/scenarios/two-rounds.yaml'), 'utf8')
  const commands = [...text.matchAll(/^# {3}(\S.*)$/gm)].map(([, command = '']) => command)
  expect(commands.length).toBeGreaterThan(5)
  const folder = await temporaryFolder()
  try {
    const who = {
      GIT_AUTHOR_NAME: 'Ann',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'Ann',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    }
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`
    const env = { ...who, PATH, HOME: folder, TMPDIR: folder, REVIEWLOOP_DATA: join(folder, 'data') }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-e', '-c', commands.join('\n')], { cwd: root, env })
    expect(stdout).toMatch(/^Approved: /)
    expect(stdout).toContain('2 round(s) of fixing')
    expect(stdout).toMatch(/3 +round 1 +reviewer +fallback/)
    expect(stderr).toContain('Fix is tried again (1): AgentThrottled')
    const branch = /merge --ff-only (\S+)/.exec(stdout)?.[1] ?? 'none'
    const repository = /git -C (\S+) merge/.exec(stdout)?.[1] ?? 'none'
    const fixed = await promisify(execFile)('git', ['show', `${branch}:src/total.ts`], { cwd: repository })
    expect(fixed.stdout).toContain('0) + tax\n')
  } finally {
    await rm(folder, { recursive: true })
  }
})
