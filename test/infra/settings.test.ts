/** Deployment settings: what is wrong is refused, and named. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ROOT } from '../../lib/infra/bundling.ts'
import { deploymentDocument } from '../../lib/infra/deployment-document.ts'
import { parseSettings, readSettings } from '../../lib/infra/settings.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import { exampleSettings, SECRET } from '../support/template.ts'

const repository = { url: 'https://git.example/one.git', defaultBranch: 'main' }
const valid = { stage: 'test', repositories: [repository] }
const folder = mkdtempSync(join(tmpdir(), 'reviewloop-settings-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('the example is valid', () => {
  expect(readSettings(join(ROOT, 'examples/deployment.json')).stage).toBe('dev')
})

test('defaults are filled in', () => {
  expect(parseSettings(valid, 'x')).toMatchObject({ agents: ['lint'], retention: { workDays: 90, recordDays: 400, logDays: 90 } })
  const schedule = { expression: 'rate(1 day)', branch: 'develop' }
  expect(parseSettings({ ...valid, repositories: [{ ...repository, schedule }] }, 'x').repositories[0]?.schedule?.timezone).toBe('UTC')
})

test('what the functions are told fits what they read', () => {
  const { stage, repositories } = exampleSettings()
  const read = deployment.parse(JSON.parse(JSON.stringify(deploymentDocument(exampleSettings()))))
  expect(read).toMatchObject({ stage, repositories: repositories.map(({ url, defaultBranch }) => ({ url, defaultBranch })) })
  expect(read.repositories[0]?.triggers.schedule).toMatchObject({ branch: 'develop' })
})

test.each([
  ['no repository', { repositories: [] }, /repositories/],
  [
    'a schedule of the default branch against itself',
    { repositories: [{ ...repository, schedule: { expression: 'rate(1 day)', branch: repository.defaultBranch } }] },
    /no change[\s\S]*schedule/,
  ],
  ['an unknown key', { region: 'eu' }, /region/],
  ['a stage that no name can hold', { stage: 'My Stage' }, /lower-case letters, digits and dashes[\s\S]*stage/],
  ['a repository over plain http', { repositories: [{ ...repository, url: 'http://git.example/one.git' }] }, /repositories\[0\]\.url/],
  [
    'a credential in a URL',
    { repositories: [{ ...repository, url: 'https://me:secret@git.example/one.git' }] },
    /a credential does not belong into a URL/,
  ],
  ['the same repository twice', { repositories: [repository, repository] }, /one\.git is listed twice/],
  [
    'a schedule of five fields',
    { repositories: [{ ...repository, schedule: { expression: 'cron(0 3 * * *)' } }] },
    /expected cron\(six fields\)/,
  ],
  [
    'a zone that is none',
    { repositories: [{ ...repository, schedule: { expression: 'rate(1 day)', timezone: 'Berlin', branch: 'develop' } }] },
    /not a time zone/,
  ],
  ['an App without its key', { github: { appId: 7 } }, /keySecret/],
  ['an App that is none', { github: { appId: 0, keySecret: SECRET } }, /appId/],
  ['a secret by its name', { gitTokenSecret: 'git-token' }, /expected the full ARN of a secret/],
  ['work kept shorter than a run may be parked', { retention: { workDays: 20 } }, /retention\.workDays/],
  ['a log retention that CloudWatch has not', { retention: { logDays: 91 } }, /retention\.logDays/],
])('%s is refused', (_, changes, message) => {
  expect(() => parseSettings({ ...valid, ...changes }, 'x')).toThrow(message)
})

test('a secret is not repeated in the message', () => {
  const wrong = { ...valid, repositories: [{ ...repository, url: 'https://me:hunter2@git.example/one.git' }] }
  expect(() => parseSettings(wrong, 'x')).toThrow(/^((?!hunter2)[\s\S])*$/)
})

test('a file that is missing or no JSON is named', () => {
  expect(() => readSettings(join(folder, 'none.json'))).toThrow(/none\.json cannot be read: name a file with --context settings=FILE/)
  writeFileSync(join(folder, 'bad.json'), '{')
  expect(() => readSettings(join(folder, 'bad.json'))).toThrow(/bad\.json are not JSON/)
})
