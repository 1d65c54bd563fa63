import { describe, expect, test } from 'vitest'
import { runId as runIdSchema, type RunRequest } from '../../lib/loop/run.ts'
import { branchKeyOf, fingerprint, normaliseRepository, runIdOf } from '../../lib/loop/run-id.ts'

const REQUEST: RunRequest = {
  repository: 'https://example.com/team/project',
  branch: 'feature',
  base: 'b'.repeat(40),
  head: 'a'.repeat(40),
  overrides: { rounds: 2, limits: { files: 3, bytes: 4 } },
  attempt: 1,
  publishTo: null,
}
const idOf = (more: Partial<RunRequest> = {}, agents: string[] = ['lint']) => runIdOf({ ...REQUEST, ...more }, agents)

describe('the run id', () => {
  test('has its form, and is the same for the same request, however it is written', () => {
    expect(runIdSchema.safeParse(idOf()).success).toBe(true)
    expect(idOf({ repository: 'https://EXAMPLE.com:443/team/project.git/' })).toBe(idOf())
    expect(idOf({ overrides: { limits: { bytes: 4, files: 3 }, rounds: 2, certify: undefined } })).toBe(idOf())
    expect(runIdOf(Object.fromEntries(Object.entries(REQUEST).toReversed()) as RunRequest, ['lint'])).toBe(idOf())
  })

  test.each<[string, Partial<RunRequest>]>([
    ['repository', { repository: 'https://example.com/team/other' }],
    ['branch', { branch: 'other' }],
    ['no branch', { branch: null }],
    ['base', { base: 'c'.repeat(40) }],
    ['head', { head: 'c'.repeat(40) }],
    ['policy', { overrides: { rounds: 3 } }],
    ['attempt', { attempt: 2 }],
    ['branch to publish to', { publishTo: 'x' }],
  ])('differs by %s', (_what, more) => {
    expect(idOf(more)).not.toBe(idOf())
  })

  test('differs by agents and their order', () => {
    expect(new Set([idOf(), idOf({}, ['claude']), idOf({}, ['claude', 'lint']), idOf({}, ['lint', 'claude'])]).size).toBe(4)
  })
})

test.each([
  ['https://GitHub.com/A/B.git', 'https://github.com/A/B'],
  ['https://github.com/A/B///', 'https://github.com/A/B'],
  ['HTTPS://github.com:443/A/B', 'https://github.com/A/B'],
  ['https://github.com:8443/A/B', 'https://github.com:8443/A/B'],
  ['https://ada:secret@github.com/A/B?x#y', 'https://github.com/A/B'],
  ['/home/ada/project/', '/home/ada/project'],
  ['/home/ada/project.git', '/home/ada/project.git'],
  ['/', '/'],
])('%s is %s', (given, expected) => {
  expect(normaliseRepository(given)).toBe(expected)
  expect(normaliseRepository(expected)).toBe(expected)
})

test('the key of a branch is one for one repository, and tells nothing', () => {
  const key = branchKeyOf('https://example.com/team/project', 'feature')
  expect(key).toMatch(/^branch#[0-9a-f]{32}$/)
  expect(branchKeyOf('https://example.com/team/project.git', 'feature')).toBe(key)
  expect(branchKeyOf('https://example.com/team/project', 'Feature')).not.toBe(key)
  expect(branchKeyOf('https://example.com/team', 'project/feature')).not.toBe(branchKeyOf('https://example.com/team/project', 'feature'))
})

test('a fingerprint is 12 hex digits of a hash', () => {
  expect(fingerprint('abc')).toBe('ba7816bf8f01')
})
