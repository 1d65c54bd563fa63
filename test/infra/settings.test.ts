/** Deployment settings: what is wrong is refused, and said with file, key and remedy. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import full from '../../examples/full.config.ts'
import small from '../../examples/small.config.ts'
import { ROOT } from '../../lib/infra/bundling.ts'
import { deploymentDocument } from '../../lib/infra/deployment-document.ts'
import { parseSettings, readSettings } from '../../lib/infra/read-settings.ts'
import type { TeamSettings } from '../../lib/infra/settings.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import { deployedPolicy } from '../../lib/loop/deployed-policy.ts'
import { policy } from '../../lib/loop/policy.ts'

const repository = { url: 'https://git.example/one.git' }
const github = { kind: 'github', repositoryId: 1, ownerId: 2 } as const
const valid = { repositories: [repository] }
const secret = (name: string): string => `arn:aws:secretsmanager:us-east-1:000000000000:secret:${name}-AbCdEf`
const app = { appId: 1, keySecret: secret('key'), webhookSecret: secret('hook') }
const told = (settings: TeamSettings) => deployment.parse(JSON.parse(JSON.stringify(deploymentDocument(parseSettings(settings, 'x')))))

const folder = mkdtempSync(join(tmpdir(), 'reviewloop-settings-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the examples', () => {
  test('are read', async () => {
    expect((await readSettings(join(ROOT, 'examples/full.config.ts'))).stage).toBe('dev')
    expect((await readSettings(join(ROOT, 'examples/small.config.ts'))).repositories.length).toBe(1)
  })

  test('the small one has ten lines, and is the one that the page shows', () => {
    const text = readFileSync(join(ROOT, 'examples/small.config.ts'), 'utf8')
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(10)
    expect(readFileSync(join(ROOT, 'docs/deploy.md'), 'utf8')).toContain(text)
  })

  test('the full one has every part', () => {
    const keys = Object.keys(parseSettings({ ...full, bedrock: { model: 'a.model' } }, 'x'))
    const parts = { ...full, bedrock: {} }
    expect(keys.filter((key) => !(key in parts))).toEqual([])
    const repositories = Object.assign({}, ...full.repositories) as object
    const inRepositories = Object.keys(parseSettings(full, 'x').repositories[0] ?? {})
    expect(inRepositories.filter((key) => !(key in repositories))).toEqual([])
  })
})

test('a repository and nothing else is enough', () => {
  expect(parseSettings(valid, 'x')).toMatchObject({
    stage: 'prod',
    agents: ['lint'],
    repositories: [{ defaultBranch: 'main', forge: { kind: 'git' }, triggers: { api: true } }],
    retention: { workDays: 90, recordDays: 400, logDays: 90 },
  })
})

test('whoever gives a model of Bedrock is reviewed by it, unless agents are named', () => {
  const bedrock = { model: 'a.model' }
  expect(parseSettings({ ...valid, bedrock }, 'x').agents).toEqual(['bedrock'])
  expect(parseSettings({ ...valid, bedrock, agents: { reviewer: ['lint'] } }, 'x').agents).toEqual({ reviewer: ['lint'] })
})

test('JSON does as well as a module', async () => {
  writeFileSync(join(folder, 'good.json'), JSON.stringify(valid))
  expect((await readSettings(join(folder, 'good.json'))).stage).toBe('prod')
})

/** Settings that are wrong: what is wrong with them, and every text that the message has to hold. */
const WRONG: [string, object, ...string[]][] = [
  ['no repository', { repositories: [] }, 'repositories:', 'at least one'],
  ['an unknown key', { region: 'eu' }, 'region: there is no such key', 'stage', 'retention'],
  [
    'a key that is misspelled, deep inside',
    { repositories: [{ ...repository, triggers: { webhok: true } }] },
    'repositories[0].triggers.webhok',
    'api, oidc, webhook',
  ],
  ['a stage that no name can hold', { stage: 'My Stage' }, 'stage: lower-case letters, digits and dashes', 'suffix of the names'],
  ['a repository over plain http', { repositories: [{ url: 'http://git.example/one.git' }] }, 'repositories[0].url', 'https address'],
  ['a repository by its name', { repositories: [{ url: 'octocat/hello-world' }] }, 'repositories[0].url', 'https address'],
  [
    'a credential in a URL',
    { repositories: [{ url: 'https://me:hunter2@git.example/one.git' }] },
    'a credential does not belong into a URL',
    'gitTokenSecret',
  ],
  [
    'the same repository twice, spelled in two ways',
    { repositories: [repository, { url: 'https://GIT.example/one/' }] },
    'repositories[1].url',
    'listed twice',
  ],
  [
    'a default branch that is no name',
    { repositories: [{ ...repository, defaultBranch: 'a..b' }] },
    'repositories[0].defaultBranch',
    'no name that git allows',
  ],
  [
    'a forge without its numbers',
    { repositories: [{ ...repository, forge: { kind: 'github', ownerId: 2 } }] },
    'repositories[0].forge.repositoryId',
    'gh api repos/OWNER/NAME',
  ],
  [
    'a forge that there is not',
    { repositories: [{ ...repository, forge: { kind: 'svn' } }] },
    'repositories[0].forge',
    '`github`, `gitlab`, or `bundle`',
  ],
  [
    'a schedule of five fields',
    { repositories: [{ ...repository, schedule: { expression: 'cron(0 3 * * *)' } }] },
    'repositories[0].schedule.expression: expected cron(six fields)',
  ],
  [
    'a zone that is none',
    { repositories: [{ ...repository, schedule: { expression: 'rate(1 day)', timezone: 'Berlin' } }] },
    'repositories[0].schedule.timezone: not a time zone',
    'Europe/Berlin',
  ],
  [
    'a night without a commit',
    { repositories: [{ ...repository, schedule: { expression: 'rate(1 day)', commits: 0 } }] },
    'repositories[0].schedule.commits',
    'one night reviews at most',
  ],
  [
    'tokens of a plain git server',
    { repositories: [{ ...repository, triggers: { oidc: true } }] },
    'repositories[0].triggers.oidc',
    'issues no tokens',
  ],
  [
    'an event that is no text',
    { repositories: [{ ...repository, forge: github, triggers: { oidc: { events: [1] } } }] },
    'repositories[0].triggers.oidc.events[0]',
  ],
  [
    'protected branches of GitHub, which nothing would ask for',
    { repositories: [{ ...repository, forge: github, triggers: { oidc: { protectedOnly: true } } }] },
    'repositories[0].triggers.oidc.protectedOnly',
    'GitLab only',
  ],
  [
    'an event that no setting lets in',
    { repositories: [{ ...repository, forge: github, triggers: { oidc: { events: ['push', 'pull_request_target'] } } }] },
    'repositories[0].triggers.oidc.events[1]',
    'the change of a fork',
  ],
  [
    'webhooks of no forge',
    { repositories: [{ ...repository, triggers: { webhook: true } }] },
    'repositories[0].triggers.webhook',
    'GitHub only',
  ],
  [
    'webhooks without their secret',
    { repositories: [{ ...repository, forge: github, triggers: { webhook: true } }] },
    'github.webhookSecret',
  ],
  [
    'pull requests without the App',
    { repositories: [{ ...repository, forge: github, publish: 'pull-request' }] },
    'repositories[0].publish',
    'GitHub App',
  ],
  [
    'agents of a role that there is not',
    { agents: { writer: ['lint'] } },
    'agents.writer: there is no such key',
    'reviewer, fixer, certifier',
  ],
  [
    'an agent of a strange name',
    { repositories: [{ ...repository, agents: { fixer: ['My Agent'] } }] },
    'repositories[0].agents.fixer[0]: an agent is named by',
  ],
  [
    'the agent bedrock without a model',
    { repositories: [{ ...repository, agents: ['bedrock'] }] },
    'bedrock: the agent bedrock is named',
    'model',
  ],
  ['no runs at once', { budgets: { runs: 0 } }, 'budgets.runs', 'runs at once'],
  [
    'a budget of nothing',
    { repositories: [{ ...repository, budgets: { day: { dollars: 0 } } }] },
    'repositories[0].budgets.day.dollars',
    'US dollars',
  ],
  [
    'a budget of a text',
    { repositories: [{ ...repository, budgets: { run: { tokens: '5' } } }] },
    'repositories[0].budgets.run.tokens',
    'input and output tokens',
  ],
  ['an address of nobody', { notify: { emails: ['team'] } }, 'notify.emails[0]', 'subscribed'],
  ['a notice that there is not', { notify: { on: ['lunch'] } }, 'notify.on[0]', 'what people are told of'],
  ['a secret by its name', { gitTokenSecret: 'git-token' }, 'gitTokenSecret: expected the full ARN of a secret'],
  ['an App that is none', { github: { appId: 0, keySecret: secret('key') } }, 'github.appId', 'settings page'],
  ['an App without its key', { github: { appId: 1 } }, 'github.keySecret', 'full ARN of the secret'],
  ['work kept shorter than a run may be parked', { retention: { workDays: 20 } }, 'retention.workDays', 'longer than a run may be parked'],
  ['a log retention that CloudWatch has not', { retention: { logDays: 91 } }, 'retention.logDays', '90'],
]

test.each(WRONG)('%s: file, key and remedy are said', (_, changes, ...texts) => {
  let said = ''
  try {
    parseSettings({ ...valid, ...changes }, 'team.config.ts')
  } catch (error) {
    said = (error as Error).message
  }
  for (const text of ['team.config.ts', 'docs/deploy.md', ...texts]) expect(said).toContain(text)
  expect(said).not.toContain('hunter2')
})

test('all that is wrong is said at once', () => {
  expect(() => parseSettings({ ...valid, stage: 'A', audience: '' }, 'x')).toThrow(/- stage:[^]*- audience:/)
})

describe('a file that cannot be read is named, with what to do', () => {
  test.each([
    ['a file that is missing', 'none.json', null, /ENOENT/],
    ['no JSON', 'bad.json', '{', /JSON/],
    ['a module without a default export', 'bare.ts', 'export const settings = {}', /no default export: write/],
    ['a module that is none', 'broken.ts', 'export default {', /broken\.ts/],
  ])('%s', async (_, name, text, why) => {
    const file = join(folder, name)
    if (text !== null) writeFileSync(file, text)
    const error = await readSettings(file).catch((thrown: unknown) => thrown as Error)
    expect(error).toBeInstanceOf(Error)
    for (const part of [why, name, '--context settings=FILE']) expect((error as Error).message).toMatch(part)
  })
})

describe('what the functions are told', () => {
  test('fits what they read, in both examples', () => {
    expect(told(full).repositories.map(({ url }) => url)).toEqual(full.repositories.map(({ url }) => url))
    expect(told(small as TeamSettings).repositories[0]).toMatchObject({
      triggers: { api: true, webhook: false, oidc: {} },
      publish: 'branch',
    })
  })

  test('holds no secret, and not where one is', () => {
    expect(JSON.stringify(told(full))).not.toMatch(/secret/i)
  })

  test('with the App, a repository on GitHub takes webhooks and gets pull requests', () => {
    const [first, second] = told({
      repositories: [{ ...repository, forge: github }, { url: 'https://git.example/two' }],
      github: app,
    }).repositories
    expect(first).toMatchObject({ triggers: { webhook: true }, publish: 'pull-request' })
    expect(second).toMatchObject({ triggers: { webhook: false }, publish: 'branch' })
  })

  test('a schedule that names no branch is of the default branch', () => {
    const schedule = { expression: 'rate(1 day)', files: 7 }
    const [first] = told({ repositories: [{ ...repository, defaultBranch: 'trunk', schedule }] }).repositories
    expect(first?.triggers.schedule).toEqual({ branch: 'trunk', commits: 50, files: 7, bytes: 2_000_000 })
  })
})

describe('a run of the deployment', () => {
  const facts = told({
    repositories: [{ ...repository, agents: { fixer: ['careful'] }, budgets: { run: { tokens: 1000, dollars: 50 } } }],
    agents: ['lint'],
  })
  const at = (settings: unknown) => deployedPolicy(facts, 'https://git.example/one', policy.parse(settings))

  test('has the agents of the deployment by role, where its own settings name none', () => {
    expect(at({}).agent).toEqual({ reviewer: ['lint'], fixer: ['careful'], certifier: ['lint'] })
    expect(at({ agent: { reviewer: 'other' } }).agent).toEqual({ reviewer: ['other'], fixer: ['careful'], certifier: ['lint'] })
  })

  test('has the lower of both bounds', () => {
    expect(at({}).limits).toMatchObject({ tokens: 1000, dollars: 20 })
    expect(at({ limits: { tokens: 10, dollars: 90 } }).limits).toMatchObject({ tokens: 10, dollars: 50 })
  })
})
