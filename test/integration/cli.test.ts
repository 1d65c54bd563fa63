import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { report as reportSchema, type Report } from '../../lib/loop/report.ts'
import { asksOnce, makeCli, twoRounds, type Cli } from '../support/cli.ts'
import { fingerprintOf, makeChange, makeRepository, type TestRepository } from '../support/git-repository.ts'

let cli: Cli
let repository: TestRepository
beforeEach(async () => {
  repository = (await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\nbad\n' })).repository
  cli = await makeCli(repository.path)
})
afterEach(async () => {
  await cli.close()
  await repository.close()
})

const runIdIn = (text: string): string => /r-[0-9a-f]{16}/.exec(text)?.[0] ?? 'none'
const reportIn = (stdout: string): Report => reportSchema.parse(JSON.parse(stdout))

describe('a run to its end', () => {
  test('two rounds, certified, on a branch of its own; nothing else of the repository is touched', async () => {
    await repository.write('not-committed.txt', 'mine')
    await repository.git('add', 'not-committed.txt')
    const before = await repository.git('status', '--porcelain', '--branch')
    const config = await readFile(join(repository.path, '.git/config'), 'utf8')
    const scenario = await cli.scenario(twoRounds())
    const { code, stdout, stderr } = await cli.run('run', '--scenario', scenario)
    expect(stderr).toMatch(/Review +round 0 .* started +1 found, 0 fixed, 1 open/)
    expect(stderr).toMatch(/Fix +round 1 .* started/)
    expect(stderr).toMatch(/Review +round 1 .* resumed/)
    expect(stderr).toMatch(/Fix +round 2 .* resumed/)
    expect(stderr).toMatch(/Certify .* cold/)
    expect(stderr).toContain('not-committed.txt')
    expect(stderr).not.toContain('\u001b')
    expect(code).toBe(0)
    const id = runIdIn(stdout)
    const lines = stdout.trimEnd().split('\n')
    expect(lines.at(-1)).toBe(`Take the fixes: git merge --ff-only reviewloop/${id}`)
    for (const format of ['md', 'json', 'sarif', 'patch']) {
      const path = join(cli.data, 'runs', id, `report.${format}`)
      expect(stdout).toContain(path)
      expect((await stat(path)).mode & 0o077).toBe(0)
    }
    expect(await repository.git('status', '--porcelain', '--branch')).toBe(before)
    expect(await readFile(join(repository.path, '.git/config'), 'utf8')).toBe(config)
    expect((await repository.git('branch', '--format=%(refname:short)')).split('\n')).toEqual(['change', 'main', `reviewloop/${id}`])
    // the two ways to take the fixes come to the same
    await repository.git('rm', '--quiet', '--cached', 'not-committed.txt')
    await repository.git('apply', join(cli.data, 'runs', id, 'report.patch'))
    expect(String(await repository.read('a.txt'))).toBe('one\ngood\n')
    await repository.git('checkout', '--quiet', 'a.txt')
    await repository.git('merge', '--quiet', '--ff-only', `reviewloop/${id}`)
    expect(String(await repository.read('a.txt'))).toBe('one\ngood\n')
  })

  test('sessions and cost tell of it turn by turn, in words and for programs', async () => {
    const usage = { input: 1000, output: 20, cacheRead: 600, cacheWrite: null, dollars: 0.25, calls: 2 }
    const scenario = await cli.scenario(twoRounds({ 2: { usage } }))
    const ran = await cli.run('run', '--scenario', scenario, '--quiet', '--output', 'json')
    const { turns, run } = reportIn(ran.stdout)
    const sessions = await cli.run('sessions', run)
    expect(sessions).toMatchObject({ code: 0, stderr: '' })
    for (const { role, mode, fingerprint } of turns) expect(sessions.stdout).toMatch(new RegExp(`${role} +${mode} +${fingerprint ?? '-'} `))
    const asJson = JSON.parse((await cli.run('sessions', '--json')).stdout) as { turns: { role: string; age: number; idle: number }[] }
    expect(asJson.turns.map(({ role, age, idle }) => [role, age === null ? 'none' : idle === null ? 'new' : 'kept'])).toEqual([
      ['reviewer', 'new'],
      ['fixer', 'new'],
      ['reviewer', 'kept'],
      ['fixer', 'kept'],
      ['reviewer', 'kept'],
      ['certifier', 'none'],
    ])
    const cost = await cli.run('cost', run)
    expect(cost).toMatchObject({ code: 0, stderr: '' })
    expect(cost.stdout).toMatch(/^2 +fixer +scripted +started +2 +1000 +600 +unknown +20 +\$0\.2500$/m)
    const { roles } = JSON.parse((await cli.run('cost', '--json')).stdout) as { roles: { fixer: { dollars: { known: number } } } }
    expect(roles.fixer.dollars.known).toBeCloseTo(0.25)
    expect((await cli.run('sessions', 'r-0000000000000000')).code).toBe(2)
  })

  test('the same request again shows what is recorded and takes no turn; --again is a new attempt', async () => {
    const scenario = await cli.scenario(twoRounds())
    const first = await cli.run('run', '--scenario', scenario, '--output', 'json', '--quiet')
    const again = await cli.run('run', '--scenario', scenario, '--output', 'json')
    expect(again.code).toBe(0)
    expect(again.stdout).toBe(first.stdout)
    expect(again.stderr).toContain('The same request was made before')
    const anew = await cli.run('run', '--scenario', scenario, '--again', '--output', 'json')
    expect(anew.stderr).not.toContain('The same request was made before')
    expect(reportIn(anew.stdout)).toMatchObject({ request: { attempt: 2 }, outcome: 'approved' })
    expect(reportIn(anew.stdout).run).not.toBe(reportIn(first.stdout).run)
    const list = await cli.run('list')
    expect(list.stdout.trimEnd().split('\n')).toHaveLength(3)
  })

  test('one JSON document on stdout, and other formats into files at the same time', async () => {
    await mkdir(join(repository.path, 'out'))
    const scenario = await cli.scenario(twoRounds())
    const { stdout, stderr, code } = await cli.run(
      'run',
      '--scenario',
      scenario,
      '--output',
      'json',
      '--output',
      'sarif=out/a.sarif',
      '--output',
      'markdown=a.md',
      '--quiet',
    )
    expect(code).toBe(0)
    expect(stderr).toBe('')
    expect(reportIn(stdout)).toMatchObject({ outcome: 'approved', reason: 'certified', rounds: 2 })
    expect(JSON.parse(String(await repository.read('out/a.sarif')))).toMatchObject({ version: '2.1.0' })
    expect(String(await repository.read('a.md'))).toContain(reportIn(stdout).run)
  })

  test('from a folder below the root, with the head and the base named, onto a branch that is named', async () => {
    const below = await makeCli(repository.path)
    await repository.write('sub/x', '')
    const scenario = await cli.scenario(twoRounds())
    await repository.switchTo('main')
    const { code, stdout } = await cli.run(
      'run',
      'sub',
      '--head',
      'change',
      '--base',
      'main',
      '--branch',
      'fixed/here',
      '--scenario',
      scenario,
    )
    expect(code).toBe(0)
    // main is checked out, and not what was reviewed
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('Take the fixes: git fetch . fixed/here:change')
    const main = await repository.id('main')
    await repository.git('fetch', '--quiet', '.', 'fixed/here:change')
    expect(await repository.git('show', 'change:a.txt')).toBe('one\ngood')
    expect(await repository.id('main')).toBe(main)
    // a branch that the same request has made stands in no way
    const again = ['run', '--head', await repository.id('change~2'), '--base', 'main', '--branch', 'fixed/again', '--scenario', scenario]
    expect((await cli.run(...again)).code).toBe(0)
    const same = await cli.run(...again)
    expect(same).toMatchObject({ code: 0, stderr: expect.stringContaining('The same request was made before') })
    expect(same.stdout).toContain('Take the fixes: they are on the branch fixed/again')
    await below.close()
  })

  test('a failed run is 4 and keeps its fixes as a patch', async () => {
    const scenario = await cli.scenario(twoRounds({ 3: { fail: { error: 'AgentFailed', reason: 'broken' } } }))
    const { code, stdout } = await cli.run('run', '--scenario', scenario)
    expect(code).toBe(4)
    expect(stdout).toContain('AgentFailed')
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^Take the fixes: git apply .*report\.patch$/)
    expect(await repository.git('branch', '--format=%(refname:short)')).toBe('change\nmain')
  })

  test('settings that are wrong on the base are bad input: 2, with file, line and key', async () => {
    await repository.switchTo('main')
    await repository.commit('settings', { '.reviewloop.yaml': 'rounds: many\n' })
    await repository.switchTo('change')
    const { code, stdout } = await cli.run('run', '--scenario', await cli.scenario(twoRounds()))
    expect(code).toBe(2)
    expect(stdout).toMatch(/\.reviewloop\.yaml at [0-9a-f]+:1:9: rounds: wrong value; allowed: a whole number/)
  })
})

describe('a run that asks', () => {
  test('parks with 3 and holds nothing; decide answers and goes on; another answer then is stale', async () => {
    const scenario = await cli.scenario(asksOnce())
    const parked = await cli.run('run', '--scenario', scenario)
    expect(parked.code).toBe(3)
    expect(parked.stdout).toContain(`decide ${runIdIn(parked.stdout)}`)
    const show = await cli.run('show', '--output', 'json')
    const finding = reportIn(show.stdout).findings[0]?.id ?? ''
    expect(reportIn(show.stdout)).toMatchObject({ status: 'parked', question: { why: 'ask-user' } })
    const wrong = await cli.run('decide', '--fix', 'f-0000000000')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toMatch(/^BadDecision: .*f-0000000000.*\nWhat to do: /)
    const decided = await cli.run('decide', '--fix', finding, '--note', 'it is not', '--scenario', scenario, '--output', 'json')
    expect(decided.code).toBe(0)
    expect(reportIn(decided.stdout)).toMatchObject({
      outcome: 'approved',
      decisions: [{ answer: { kind: 'fix', findings: [finding], note: 'it is not' } }],
    })
    // also without its name, where nothing is parked any more
    for (const named of [[runIdIn(parked.stdout)], []]) {
      const late = await cli.run('decide', ...named, '--skip')
      expect(late).toMatchObject({ code: 2, stderr: expect.stringMatching(/^StaleDecision: /) })
      const same = await cli.run('decide', ...named, '--fix', finding, '--note', 'it is not', '--output', 'json')
      expect({ code: same.code, stdout: same.stdout }).toEqual({ code: 0, stdout: decided.stdout })
    }
  })

  test.each([
    ['--approve', 0, 'approved', 'by-person'],
    ['--skip', 1, 'changes-requested', 'skipped'],
    ['--abort', 5, 'aborted', 'aborted'],
  ])('decide %s ends with %i', async (flag, code, outcome, reason) => {
    const scenario = await cli.scenario(asksOnce())
    await cli.run('run', '--scenario', scenario)
    const decided = await cli.run('decide', flag, '--output', 'json')
    expect(decided.code).toBe(code)
    expect(reportIn(decided.stdout)).toMatchObject({ outcome, reason })
  })

  test('--yes asks nobody: changes requested, never approved', async () => {
    const { code, stdout } = await cli.run('run', '--yes', '--scenario', await cli.scenario(asksOnce()), '--output', 'json')
    expect(code).toBe(1)
    expect(reportIn(stdout)).toMatchObject({ outcome: 'changes-requested', reason: 'open-findings', question: null })
  })

  test('abort ends a parked run, and the branch is free for the next', async () => {
    const scenario = await cli.scenario(asksOnce())
    const parked = await cli.run('run', '--scenario', scenario)
    const aborted = await cli.run('abort', '--output', 'json')
    expect(aborted.code).toBe(0)
    expect(reportIn(aborted.stdout)).toMatchObject({ run: runIdIn(parked.stdout), outcome: 'aborted' })
    expect((await cli.run('abort')).code).toBe(2)
    const next = await cli.run('run', '--again', '--yes', '--scenario', scenario)
    expect(next.code).toBe(1)
  })

  test('a newer head supersedes the parked run of its branch', async () => {
    const scenario = await cli.scenario(asksOnce())
    const parked = await cli.run('run', '--scenario', scenario)
    await repository.commit('more', { 'b.txt': 'b\n' })
    const newer = await cli.run('run', '--scenario', await cli.scenario(twoRounds()), '--output', 'json')
    expect(newer.code).toBe(0)
    const older = await cli.run('show', runIdIn(parked.stdout), '--output', 'json')
    expect(reportIn(older.stdout)).toMatchObject({ outcome: 'superseded' })
  })
})

describe('bad input', () => {
  test('base and head the same: says so, tells of what is not committed, and is no failure', async () => {
    await repository.switchTo('main')
    await repository.write('new.txt', 'x')
    const { code, stdout } = await cli.run('run')
    expect(code).toBe(0)
    expect(stdout).toContain('nothing to review')
    expect(stdout).toContain('new.txt')
    await expect(readdir(cli.data)).rejects.toMatchObject({ code: 'ENOENT' })
  })
  test('a folder for a report that is not there is found before the run, and not made', async () => {
    const missing = join(cli.scratch, 'no', 'such')
    for (const path of [join(missing, 'x.sarif'), cli.scratch]) {
      const { code, stdout, stderr } = await cli.run('run', '--yes', '--output', `sarif=${path}`)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^BadRequest: .*no folder .*no\/such|^BadRequest: .*it is a folder/)
    }
    expect(await readdir(cli.scratch)).toEqual([])
  })
  test.each([
    ['change', 'BranchTaken'],
    ['team', 'BranchTaken'],
    ['x..y', 'BadRequest'],
  ])('--branch %s is refused with %s before anything is started', async (name, error) => {
    await repository.git('branch', 'team/one')
    const { code, stdout, stderr } = await cli.run('run', '--branch', name, '--scenario', await cli.scenario(twoRounds()))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(new RegExp(`^${error}: .+\nWhat to do: .+`))
    expect((await cli.run('list')).stdout).toContain('No run yet')
  })
  test('looking makes no data folder, and says that there are no runs', async () => {
    const none = { code: 0, stderr: '', stdout: expect.stringContaining('No run yet') }
    expect(await cli.run('list')).toMatchObject(none)
    expect(JSON.parse((await cli.run('list', '--output', 'json')).stdout)).toEqual({ version: 1, runs: [] })
    expect(await cli.run('clean', '--yes')).toMatchObject({ code: 0, stdout: expect.stringContaining('0 run(s)') })
    for (const command of [['show'], ['decide', '--skip']])
      expect(await cli.run(...command)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^RunNotFound: .*\nWhat to do: .*reviewloop run/),
      })
    expect(await readdir(cli.scratch)).toEqual([])
  })
  test('a base that does not serve: what to name instead', async () => {
    const absent = await cli.run('run', '--base', 'no-such')
    expect(absent.stderr).toMatch(/^NoCommit: .*no-such.*\nWhat to do: Name a base .*--base main`/)
    expect((await cli.run('run', '--head', 'no-such')).stderr).toContain('--head')
    await repository.git('checkout', '--quiet', '--orphan', 'lone')
    await repository.commit('alone')
    const apart = await cli.run('run', '--base', 'main')
    expect(apart).toMatchObject({ code: 2, stderr: expect.stringMatching(/^NoBase: .*main and the head.*\nWhat to do: /) })
    expect(apart.stderr).not.toContain('--base main')
    expect((await cli.run('run')).stderr).toMatch(/^NoBase: .*\nWhat to do: (?!.*--base main)/)
  })
  test('a repository of SHA-256 names', async () => {
    const folder = join(cli.scratch, 'sha256')
    await repository.git('init', '--quiet', '--object-format=sha256', folder)
    await repository.git('-C', folder, 'commit', '--quiet', '--allow-empty', '-m', 'one')
    const { code, stderr } = await cli.run('run', folder)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^NoCommit: .*SHA-256.*\nWhat to do: .*SHA-1/)
  })
  test("another user's repository", async () => {
    // only root can give a folder away; git can be told to take it for another's
    const path = process.env['PATH'] ?? ''
    const real =
      path
        .split(delimiter)
        .map((folder) => join(folder, 'git'))
        .find((file) => existsSync(file)) ?? 'git'
    const git = join(cli.scratch, 'bin', 'git')
    await mkdir(dirname(git))
    await writeFile(git, `#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec ${real} "$@"\n`, { mode: 0o755 })
    process.env['PATH'] = `${dirname(git)}${delimiter}${path}`
    const running = cli.start(['run'])
    process.env['PATH'] = path
    const { code, stderr } = await running.ended
    expect(code).toBe(2)
    expect(stderr).toMatch(/^NotARepository: .*belongs to another user.*safe\.directory.*\nWhat to do: .*owner.*chown/)
  })
  test.each([
    [['run', '/'], 'NotARepository'],
    [['run', '/nowhere'], 'NotARepository'],
    [['run', '--head', 'no-such'], 'NoCommit'],
    [['run', '--base', 'no-such'], 'NoCommit'],
    [['run', '--output', 'xml'], 'BadRequest'],
    [['run', '--rounds', 'many'], 'BadRequest'],
    [['run', '--agent', 'nobody'], 'AgentUnavailable'],
    [['run', '--scenario', '/nowhere.yaml'], 'BadSettings'],
    [['show', 'r-0000000000000000'], 'RunNotFound'],
    [['resume'], 'RunNotFound'],
    [['decide', '--approve'], 'RunNotFound'],
    [['clean', '--older-than', 'soon'], 'BadRequest'],
    [['show', '--remote', 'http://example.org', 'r-0000000000000000'], 'BadRequest'],
  ])('%j is 2 with %s, what to do, and an empty stdout', async (args, name) => {
    const { code, stdout, stderr } = await cli.run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(new RegExp(`^${name}: .+\nWhat to do: .+`))
  })
  test.each([[['bogus']], [['run', '--bogus']], [['decide', '--fix']], [['start']], [['run', 'a', 'b']]])('%j is 2', async (args) => {
    const { code, stdout, stderr } = await cli.run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('reviewloop --help')
  })
  test('a repository without a commit, and one without a base', async () => {
    const empty = await makeRepository()
    const none = await cli.run('run', empty.path)
    expect(none).toMatchObject({ code: 2, stderr: expect.stringMatching(/^NoCommit: .*no commit yet[^]*reviewloop run/) })
    await empty.commit('one', { a: 'x' })
    await empty.git('branch', '--move', 'trunk')
    const lost = await cli.run('run', empty.path)
    expect(lost).toMatchObject({ code: 2, stderr: expect.stringMatching(/^NoBase: [^]*--base HEAD~1/) })
    await empty.close()
  })
})

describe('the demo', () => {
  test('ends approved and certified after two rounds, and can be run again; with --stubborn it parks', async () => {
    const folder = join(cli.scratch, 'demo')
    const first = await cli.run('demo', '--folder', folder)
    expect(first.code).toBe(0)
    expect(first.stderr).toMatch(/Fix +round 2 .*resumed/)
    expect(first.stderr).toMatch(/Certify .*cold +0 found, 0 fixed, 0 open/)
    expect(first.stderr).toContain('run ../your-project')
    const stubborn = await cli.run('demo', '--stubborn', '--folder', folder, '--quiet')
    expect(stubborn.code).toBe(3)
    expect((await cli.run('decide', '--approve', '--data', join(folder, 'data'), '--quiet')).code).toBe(0)
    expect((await readdir(join(folder, 'demo'))).toSorted()).toEqual(['1', '2'])
  })
})

describe('around', () => {
  test('--version and --help are 0 and on stdout', async () => {
    expect(await cli.run('--version')).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' })
    const help = await cli.run('--help')
    expect(help).toMatchObject({ code: 0, stderr: '' })
    for (const text of ['Examples', '130', 'resume', 'decide']) expect(help.stdout).toContain(text)
    expect((await cli.run('run', '--help')).stdout).toContain('--base')
  })
  test('init writes a file that is valid and at the defaults, and replaces none', async () => {
    const { code, stdout } = await cli.run('init')
    expect(code).toBe(0)
    expect(stdout).toContain(join(repository.path, '.reviewloop.yaml'))
    await writeFile(join(repository.path, '.reviewloop.yaml'), 'rounds: 1\n')
    expect((await cli.run('init')).code).toBe(2)
    expect(String(await repository.read('.reviewloop.yaml'))).toBe('rounds: 1\n')
    expect((await cli.run('init', '--force')).code).toBe(0)
  })
  test('doctor says what it found, and fails where something is wrong', async () => {
    const found = await cli.run('doctor')
    expect(found).toMatchObject({ code: 0, stdout: expect.stringMatching(/ok +git +2\./) })
    expect(found.stdout).toMatch(/^none +agent bedrock +REVIEWLOOP_BEDROCK_MODEL is not set/m)
    await repository.write('.no-mistakes.yaml', 'auto_fix: {review: 2, lint: 1}\n')
    expect((await cli.run('doctor')).stdout).toMatch(/ok +settings +\S+\.no-mistakes\.yaml; taken of it: auto_fix\.review\n/)
    await repository.write('.reviewloop.yaml', 'nonsense: 1\n')
    expect(await cli.run('doctor')).toMatchObject({ code: 4, stdout: expect.stringMatching(/wrong settings.*nonsense/) })
  })
  test('clean takes ended runs away, and only with consent; what is parked stays', async () => {
    const scenario = await cli.scenario(asksOnce())
    const ended = runIdIn((await cli.run('run', '--yes', '--scenario', scenario)).stdout)
    const parked = runIdIn((await cli.run('run', '--scenario', scenario)).stdout)
    expect((await cli.run('clean', '--older-than', '1d')).stdout).toContain('0 run(s)')
    expect((await cli.run('clean', '--older-than', '0d', '--dry-run')).stdout).toContain(ended)
    expect((await cli.run('clean', '--older-than', '0d')).code).toBe(2)
    const cleaned = await cli.run('clean', '--older-than', '0d', '--yes')
    expect(cleaned).toMatchObject({ code: 0, stdout: expect.stringContaining(ended) })
    expect(cleaned.stdout).not.toContain(parked)
    const left = Object.keys(await fingerprintOf(cli.data)).filter((path) => !path.includes('/tables/'))
    expect(left.filter((path) => path.includes(ended))).toEqual([])
    expect((await cli.run('show', ended)).code).toBe(2)
    expect((await cli.run('decide', '--approve')).code).toBe(0)
  })
})
