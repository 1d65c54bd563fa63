/** The command line with --remote, against the API itself, as `serve` has it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment } from '../../lib/loop/deployment.ts'
import { asksOnce, type Cli, makeCli } from '../support/cli.ts'
import { makeChange, type TestRepository } from '../support/git-repository.ts'
import { startService, type TestService } from '../support/service.ts'

let repository: TestRepository
let service: TestService
let cli: Cli
beforeAll(async () => {
  ;({ repository } = await makeChange({ 'a.txt': 'one\ntwo\n' }, { 'a.txt': 'one\nbad\n' }))
  service = await startService(deployment.parse({ stage: 'here', repositories: [{ url: repository.path }] }), asksOnce())
  cli = await makeCli(undefined, { REVIEWLOOP_REMOTE_TOKEN: service.now().token })
})
afterAll(async () => {
  await cli.close()
  await service.close()
  await repository.close()
})
const remote = (...args: string[]) => cli.run(...args, '--remote', service.now().url)

test('a run is started and followed until it waits, looked at, answered and followed to its end, with the exit codes of `run`', async () => {
  const started = await remote('start', '--repository', repository.path, '--branch', 'change', '--wait')
  expect(started).toMatchObject({ code: 3 })
  expect(started.stdout).toContain('is this meant?')
  const [, id = ''] = /decide (r-[0-9a-f]{16}) --remote http:/.exec(started.stdout) ?? []

  const [list, json, shown, sarif] = await Promise.all([
    remote('list', '--status', 'parked'),
    remote('list', '--output', 'json', '--branch', 'change'),
    remote('show'),
    remote('show', id.slice(2, 8), '--output', 'sarif'),
  ])
  expect(list.stdout).toMatch(new RegExp(`^RUN .*\\n${id}  parked`))
  expect(JSON.parse(json.stdout)).toMatchObject({ version: 1, runs: [{ runId: id, status: 'parked' }] })
  expect(shown.stdout).toContain('is this meant?')
  expect(JSON.parse(sarif.stdout)).toMatchObject({ version: '2.1.0' })

  const decided = await remote('decide', '--fix', 'all', '--wait', '--output', 'json')
  expect(decided).toMatchObject({ code: 0 })
  expect(JSON.parse(decided.stdout)).toMatchObject({ run: id, outcome: 'approved', decisions: [{ by: 'ada' }] })
  const patch = await remote('show', id, '--output', 'patch')
  expect(patch.stdout).toContain('+meant')
})

test('what does not fit is said with a remedy', async () => {
  const answers = await Promise.all([
    remote('decide', '--approve'),
    remote('abort'),
    remote('show', 'r-0000000000000000'),
    remote('start', '--repository', 'https://git.example/unknown', '--branch', 'x'),
    cli.run('start', '--repository', 'x', '--branch', 'y'),
    cli.run('list', '--remote', 'http://example.org'),
  ])
  for (const [index, name] of ['RunNotFound', 'RunNotFound', 'RunNotFound', 'RepositoryNotAllowed', 'BadRequest', 'BadRequest'].entries()) {
    expect(answers[index]).toMatchObject({ code: 2, stdout: '' })
    expect(answers[index]?.stderr).toContain(name)
    expect(answers[index]?.stderr).toContain('What to do:')
  }
})

test('a deployment is checked', async () => {
  const [good, bad] = await Promise.all([remote('doctor'), cli.run('doctor', '--remote', 'http://127.0.0.1:9')])
  expect(good).toMatchObject({ code: 0 })
  expect(good.stdout).toContain(`stage here; it reviews ${repository.path}`)
  expect(good.stdout).not.toContain(service.now().token)
  expect(bad).toMatchObject({ code: 4 })
  expect(bad.stdout).toMatch(/wrong.*API .*did not answer/)
})
