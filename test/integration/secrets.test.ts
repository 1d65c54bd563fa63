/** Canaries in the environment, in credentials and in addresses: whatever a run does, and however it fails, none of them gets out. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { close } from '../../lib/loop/close.ts'
import { asLoopError } from '../../lib/loop/errors.ts'
import { recordFailure } from '../../lib/loop/record-failure.ts'
import { viewOf } from '../../lib/loop/view.ts'
import { answering } from '../../lib/runtime/http.ts'
import { authorization } from '../../lib/workspace/address.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { gitForge } from '../../lib/forge/git-forge.ts'
import { CANARIES, canariesBelow, canariesIn, ROOT, runWithCanaries } from '../support/canary.ts'
import { takeStep } from '../support/drive.ts'
import { serveGit } from '../support/git-http-server.ts'
import { makeChange, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { gitPorts } from '../support/lint-run.ts'
import { aRun } from '../support/runs.ts'

const CLI = join(ROOT, 'bin/reviewloop.ts')
const IN_ADDRESS = { address: 'tweety-9gM3kV1InTheAddress' }
let scratch = ''
let data = ''
let repository: TestRepository

beforeEach(async () => {
  scratch = await temporaryFolder()
  data = join(scratch, 'data')
  const made = await makeChange(
    { 'a.js': 'export const a = 1\n', 'b.json': '{"b": "one"}\n' },
    { 'a.js': 'var a = 1\nexport { a }\n', 'b.json': '{"b": "bad"}\n' },
  )
  repository = made.repository
  await repository.git('remote', 'add', 'origin', `https://ada:${IN_ADDRESS.address}@example.com/project.git`)
})
afterEach(async () => {
  await repository.close()
  await rm(scratch, { recursive: true })
})

const cli = (...args: string[]) => runWithCanaries(CLI, args, { cwd: repository.path, env: { REVIEWLOOP_DATA: data, HOME: scratch } })
const ALL = { ...CANARIES, ...IN_ADDRESS }

/** Neither what was printed nor any file of the data folder holds one. */
const expectNone = async (...outputs: { stdout: string; stderr: string }[]): Promise<void> => {
  for (const { stdout, stderr } of outputs) expect(canariesIn(`${stdout}\n${stderr}`, ALL)).toEqual([])
  expect(await canariesBelow(data, ALL)).toEqual([])
}

it('the search finds what is there: in a file, in base64, in the database', async () => {
  const run = await cli('run', '--base', 'main', '--yes')
  expect(run.code).toBe(0)
  const known = { repository: repository.path }
  const files = await canariesBelow(data, known)
  expect(files.some((file) => file.includes('/tables/'))).toBe(true)
  expect(files.some((file) => file.includes('/artifacts/') || file.includes('/runs/'))).toBe(true)
  expect(canariesIn(Buffer.from(`x:${CANARIES.gitToken}`).toString('base64'))).toEqual(['gitToken'])
})

describe('the command line', () => {
  it('a whole run to its approved end, and every command that shows it', async () => {
    const run = await cli('run', '--base', 'main', '--yes')
    expect(run.code).toBe(0)
    const shown = [await cli('show'), await cli('show', '--output', 'json'), await cli('list', '--output', 'json'), await cli('doctor')]
    expect(shown.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    await expectNone(run, ...shown)
    expect(canariesIn(await repository.git('log', '--all', '-p'), ALL)).toEqual([])
  })

  it('a run whose agents repeat every secret there is, in everything they can say', async () => {
    const all = Object.values(CANARIES).join(' ')
    const finding = { rule: `r ${all}`, severity: 'error', action: 'auto-fix', file: 'b.json', line: 1, text: `bad: ${all}` }
    const outside = { ...finding, severity: 'info', action: 'no-op', file: `../${CANARIES.gitToken}` }
    const scenario = join(scratch, 'scenario.yaml')
    const turns = {
      1: { role: 'reviewer', findings: [finding, outside], skipped: [{ file: 'a.js', reason: all }], summary: all },
      2: { role: 'fixer', edits: [{ replace: 'b.json', before: 'bad', after: 'good' }], note: all, summary: all },
      3: { role: 'reviewer', accounts: { fixed: 'all' }, note: all, summary: all },
      4: { fail: { error: 'AgentFailed', reason: `refused ${all}` } },
    }
    await writeFile(scenario, JSON.stringify({ turns }))
    const run = await cli('run', '--base', 'main', '--yes', '--scenario', scenario, '--output', 'markdown')
    expect(run.code).toBe(4)
    expect(`${run.stdout}${run.stderr}`).toContain('redacted:own-secret')
    const shown = [await cli('show'), await cli('show', '--output', 'sarif'), await cli('list')]
    await expectNone(run, ...shown)
  })

  it('a run that asks, and an answer with a secret in it', async () => {
    const finding = { rule: 'unsure', severity: 'warning', action: 'ask-user', file: 'b.json', line: 1, text: 'is it meant?' }
    const scenario = join(scratch, 'scenario.yaml')
    await writeFile(scenario, JSON.stringify({ turns: { 1: { role: 'reviewer', findings: [finding] } } }))
    const run = await cli('run', '--base', 'main', '--scenario', scenario)
    expect(run.code).toBe(3)
    const answered = await cli('decide', '--approve', `--note=${CANARIES.gitToken}`)
    const wrong = await cli('decide', '--fix', `f-${CANARIES.awsSecret}`)
    const fixed = await cli('decide', '--fix', 'all', `--note=use ${CANARIES.gitToken}`, '--scenario', scenario)
    // The fixer of the scenario does nothing, so it asks again.
    expect([answered.code, wrong.code, fixed.code]).toEqual([2, 2, 3])
    await expectNone(run, answered, wrong, fixed)
  })

  it.each([
    ['an address instead of a folder', ['run', `https://ada:${IN_ADDRESS.address}@example.com/x.git`]],
    ['a flag that there is not', ['run', `--token=${CANARIES.gitToken}`]],
    ['a command that there is not', [`x-${CANARIES.awsSession}`]],
    ['a revision that there is not', ['run', '--base', CANARIES.modelKey]],
    ['an address of a deployment', ['show', 'r-0123456789abcdef', '--remote', `https://ada:${IN_ADDRESS.address}@example.com`]],
    ['a deployment that does not answer', ['show', 'r-0123456789abcdef', '--remote', 'http://127.0.0.1:9']],
    ['a settings file in the base with a secret in a wrong place', ['run', '--base', 'settings']],
  ])('%s fails without showing it', async (_what, args) => {
    await repository.git('branch', 'settings', 'main')
    await repository.switchTo('settings')
    await repository.commit('settings', { '.reviewloop.yaml': `${CANARIES.gitToken}: 1\nrounds: ${CANARIES.awsSecret}\n` })
    await repository.switchTo('change')
    const called = await cli(...args)
    expect(called.code).toBeGreaterThanOrEqual(2)
    expect(canariesIn(`${called.stdout}\n${called.stderr}`, ALL)).toEqual([])
    expect(await canariesBelow(scratch, ALL)).toEqual([])
  })
})

describe('git', () => {
  it('a server that gives the token back in everything it says: no error, no run, no report has it', async () => {
    const server = await serveGit({
      root: scratch,
      secure: true,
      intercept: (request, response) => {
        const said = `${request.headers.authorization} ${CANARIES.gitToken} https://ada:${CANARIES.gitToken}@host/`
        response.writeHead(request.url?.includes('receive-pack') ? 403 : 500, said.slice(0, 60).replaceAll(/[^ -~]/g, ''), {
          'content-type': 'text/plain',
        })
        response.end(said)
        return true
      },
    })
    const cert = join(scratch, 'cert.pem')
    await writeFile(cert, server.certificate)
    process.env['GIT_SSL_CAINFO'] = cert
    try {
      const token = async () => CANARIES.gitToken
      const ports = { ...gitPorts(), workspaces: gitWorkspaces({ token }), forge: gitForge({ token }) }
      const { run, state } = await aRun(ports, { repository: `${server.url}/project.git` })
      const error = await takeStep(ports, state).then(() => expect.fail('it was expected to fail'), asLoopError)
      expect(server.requests[0]?.authorization).toBe(authorization(CANARIES.gitToken))
      const failed = await recordFailure(ports, { ...state, error: { Error: error.name, Cause: error.message } })
      await close(ports, failed)
      const heads = await ports.forge
        .branchHead(`${server.url}/project.git`, 'x')
        .then(() => expect.fail('it was expected to fail'), asLoopError)
      const item = ports.runs.runItems.get(run.runId)!
      const reports = [...ports.artifacts.objects].map(([key, bytes]) => `${key} ${new TextDecoder().decode(bytes)}`).join('\n')
      const told = [
        error.message,
        error.stack,
        JSON.stringify(error.details),
        heads.message,
        JSON.stringify(item),
        JSON.stringify(viewOf(item, [], null)),
        reports,
      ]
      expect(canariesIn(told.join('\n'))).toEqual([])
      expect(reports).toContain('FetchFailed')
    } finally {
      delete process.env['GIT_SSL_CAINFO']
      await server.close()
    }
  })

  it('an address with a credential starts no run and stores nothing', async () => {
    const ports = gitPorts()
    const address = `https://ada:${IN_ADDRESS.address}@example.com/x.git`
    const error = await aRun(ports, { repository: address }).then(() => expect.fail('it was expected to fail'), asLoopError)
    expect(error.name).toBe('BadRequest')
    const answer = await answering(() => Promise.reject(new Error(address)))
    expect(canariesIn(`${error.message} ${JSON.stringify(error.details)} ${answer.body}`, ALL)).toEqual([])
    expect(ports.runs.runItems.size + ports.runs.branchItems.size).toBe(0)
  })
})

/** Fails with all the secrets that it knows; what Lambda passes on of that (name, message, stack, and every property of the error's own) goes to stdout. */
const FAILING = `
import { LoopError } from '${ROOT}lib/loop/errors.ts'
import { makeEffects } from '${ROOT}lib/runtime/effects.ts'
import { lambda } from '${ROOT}lib/runtime/lambda.ts'
const secrets = Object.values(process.env).join(' | ')
process.env.REVIEWLOOP_METRICS = 'reviewloop/test'
const handler = lambda((_event, { progress }) => {
  progress('working with ' + secrets)
  const facts = { env: { ...process.env }, token: 'tweety', cut: '-----BEGIN PRIVATE KEY-----', cause: new Error(secrets) }
  makeEffects().log('warn', 'have ' + secrets, facts)
  throw new LoopError('FetchFailed', 'could not fetch with ' + secrets, { env: { ...process.env } }, { cause: new Error(secrets) })
})
await handler({ runId: 'r-0123456789abcdef' }, { getRemainingTimeInMillis: () => 60_000 }).catch((error) => {
  const passedOn = { errorType: error.name, errorMessage: error.message, trace: error.stack.split('\\n'), ...error, cause: String(error.cause) }
  process.stdout.write(JSON.stringify(passedOn) + '\\n')
})
`

describe('a deployed function', () => {
  it('that fails with all it knows logs and passes on none of it', async () => {
    const script = join(scratch, 'failing.ts')
    await writeFile(script, FAILING)
    const called = await runWithCanaries(script, [], { cwd: scratch })
    const lines = called.stdout.trim().split('\n')
    expect(called.code).toBe(0)
    expect(Math.min(lines.length, called.stderr.trim().split('\n').length)).toBeGreaterThanOrEqual(2)
    const last = JSON.parse(lines.at(-1)!) as Record<string, unknown>
    expect(last).toMatchObject({
      errorType: 'FetchFailed',
      name: 'FetchFailed',
      errorMessage: expect.stringContaining('[redacted:own-secret]'),
    })
    expect(canariesIn(`${called.stdout}\n${called.stderr}`, ALL)).toEqual([])
  })
})
