/** Known ways in which agents behind a model fail: real git, the loop, the agent `bedrock` and its real client. The numbers are those of test/unit/cases.test.ts. */
import { afterEach, describe, expect, it } from 'vitest'
import { asLoopError } from '../../lib/loop/errors.ts'
import type { FindingDraft } from '../../lib/loop/finding.ts'
import type { Settings } from '../../lib/loop/policy.ts'
import { loadRecord } from '../../lib/loop/run-record.ts'
import { driveUntil } from '../support/drive.ts'
import { makeChange, makeRepository, type TestRepository } from '../support/git-repository.ts'
import { gitPorts } from '../support/lint-run.ts'
import { modelBench } from '../support/model-server/bedrock-agent.ts'
import type { ModelReply } from '../support/model-server/bedrock.ts'
import { bedrockRun } from '../support/model-server/bedrock-run.ts'
import { plainModel } from '../support/model-server/plain-model.ts'
import { aRun } from '../support/runs.ts'

const bench = modelBench()
const opened: TestRepository[] = []
afterEach(async () => {
  for (const repository of opened.splice(0)) await repository.close()
})

type Files = Record<string, string>
interface Options {
  settings?: Record<string, string>
  overrides?: Record<string, unknown>
}

/** Over files in memory. */
const runOn = async (base: Files, head: Files, { overrides, ...options }: Options = {}) => {
  const run = await bedrockRun(bench, { base, head: { ...base, ...head }, overrides: { ask: 'never', ...overrides }, ...options })
  return { ...run, sent: bench.server.requests.map(({ raw }) => raw) }
}
const failing = (base: Files, head: Files) => runOn(base, head).then(() => expect.fail('it was expected to fail'), asLoopError)

/** Over real git. */
const runOverGit = async (repository: TestRepository, options: { settings?: Record<string, string>; overrides?: Settings } = {}) => {
  opened.push(repository)
  const ports = gitPorts()
  Object.assign(ports, { agents: { find: async () => [bench.agent(options.settings)] }, defaultAgents: ['bedrock'] })
  const source = { base: await repository.id('main'), head: await repository.id('change') }
  const overrides = { ask: 'never' as const, ...options.overrides }
  const { state: start } = await aRun(ports, { repository: repository.path, branch: 'change', ...source, overrides })
  const { state } = await driveUntil(ports, start, 'Done', 'Failed', 'Park')
  return { state, record: await loadRecord(ports, state), sent: bench.server.requests.map(({ raw }) => raw) }
}
const changeOf = async (before: Files, after: Files) => (await makeChange(before, after)).repository

const draft = (more: Partial<FindingDraft> = {}) => ({
  rule: 'bad-word',
  severity: 'error',
  action: 'ask-user',
  file: 'a.txt',
  line: null,
  endLine: null,
  text: 'bad',
  ...more,
})
const reporting = (...findings: object[]): ModelReply => ({
  tools: [{ name: 'report', input: { findings, accounts: [], skipped: [], summary: 'looked' } }],
})
const approves = { outcome: 'approved' }
const lines = (count: number, word = 'line'): string => Array.from({ length: count }, (_, at) => `${word} ${at + 1}\n`).join('')

describe('case 7: a diff far over the size limit', () => {
  const files = ['auth', 'list', 'view'].map((name) => `src/${name}.ts`)
  const change = Object.fromEntries([...files, 'README.md', 'yarn.lock'].map((file) => [file, lines(400, `${file} says`)]))
  const small = { REVIEWLOOP_BEDROCK_CONTEXT_TOKENS: '20000' }

  it('case 7: is split by file over several messages; what did not fit is disclosed, and it is never clean', async () => {
    bench.server.model = () => reporting()
    const { state, record, sent } = await runOn({ 'x.txt': 'x\n' }, change, { settings: small })
    expect(sent.length).toBeGreaterThan(1)
    expect(sent.at(-1)).toContain('src/auth.ts says 400')
    const shown = files.filter((file) => sent.at(-1)?.includes(`${file} says 400`))
    const unread = record.skipped.map(({ file }) => file)
    expect([...shown, ...unread].toSorted()).toEqual(Object.keys(change).toSorted())
    expect(unread).toContain('yarn.lock')
    expect(record.findings.map(({ rule, file }) => [rule, file])).toEqual(unread.map((file) => ['not-reviewed', file]))
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'open-findings' })
  })

  it('case 7: is approved with it only where the policy says that disclosing is enough', async () => {
    bench.server.model = () => reporting()
    const { state, record } = await runOn({ 'x.txt': 'x\n' }, change, { settings: small, overrides: { unread: 'disclose' } })
    expect(record.skipped.map(({ file }) => file)).toContain('yarn.lock')
    expect(state.verdict).toMatchObject(approves)
  })

  it('case 7: over the limit on the diff itself, its files are named with the reason, and it is never clean', async () => {
    bench.server.model = () => reporting()
    const { state, record, sent } = await runOverGit(await changeOf({ 'x.txt': 'x\n' }, change), {
      overrides: { limits: { diff_bytes: 20_000 } },
    })
    expect(record.skipped.length).toBeGreaterThan(2)
    for (const { file } of record.skipped) expect(sent[0]).toContain(`added \\"${file}\\" (not shown`)
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested' })
  })
})

describe('case 8: one changed line', () => {
  it('case 8: in a file of 10 MB is shown by its hunk, and the rest is in no prompt', async () => {
    const many = lines(500_000, 'some line of a long file')
    bench.server.model = () => reporting()
    const repository = await changeOf({ 'big.txt': many }, { 'big.txt': many.replace('long file 250000\n', 'long file, changed\n') })
    const { state, sent } = await runOverGit(repository)
    expect(state.verdict).toMatchObject(approves)
    expect(sent).toHaveLength(1)
    expect(sent[0]).toContain('250000 + some line of a long file, changed')
    expect(sent[0]?.length).toBeLessThan(30_000)
  })

  it('case 8: that is a whole file is shown in part, which is disclosed and not clean', async () => {
    const long = 'x'.repeat(3_000_000)
    bench.server.model = () => reporting()
    const { state, record, sent } = await runOn({ 'one.js': `${long}\n` }, { 'one.js': `${long}y\n` })
    expect(Math.max(...sent.map(({ length }) => length))).toBeLessThan(40_000)
    expect(record.skipped).toMatchObject([{ file: 'one.js', reason: expect.stringContaining('too long') as string }])
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested' })
  })

  it('case 8: a model that reads such a file is given no more of it than a tool may say', async () => {
    const long = 'x'.repeat(3_000_000)
    bench.server.script.push({ tools: [{ name: 'read_file', input: { file: 'one.js', line: null } }] })
    bench.server.model = () => reporting()
    const { sent } = await runOn({ 'one.js': `${long}\n`, 'a.txt': 'a\n' }, { 'a.txt': 'b\n' })
    expect(sent).toHaveLength(2)
    expect(sent[1]?.length).toBeLessThan(40_000)
  })
})

describe("case 9: a model's output", () => {
  const clean = JSON.stringify({ findings: [], accounts: [], skipped: [], summary: 'clean' })
  const talking = (text: string, more: object = {}): ModelReply => ({ text, ...more })

  it('case 9: that is cut off is a failure and not fewer findings, however much of it is whole', async () => {
    const cut: ModelReply = { ...reporting(draft()), stop: 'max_tokens' }
    bench.server.script.push(cut, cut)
    expect(await failing({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })).toMatchObject({
      name: 'AgentFailed',
      message: expect.stringContaining('cut off') as string,
    })
  })

  it('case 9: that is cut off once is asked for again, and nothing of the half is kept', async () => {
    bench.server.script.push({ ...reporting(), stop: 'max_tokens' }, reporting(draft()))
    const { record, sent } = await runOn({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })
    expect(record.findings).toHaveLength(1)
    expect(sent[1]).not.toContain('toolUse')
  })

  it.each([
    ['in a fence', `\`\`\`json\n${clean}\n\`\`\``],
    ['with prose around it', `The change is fine.\n\n${clean}\n\nApproved.`],
    ['whole', clean],
    ['half of it', clean.slice(0, 30)],
  ])('case 9: that is talk and no report (%s) is no verdict: asked for twice, then a failure', async (_what, text) => {
    bench.server.model = () => talking(text)
    expect(await failing({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })).toMatchObject({ name: 'AgentOutputInvalid' })
    expect(bench.server.requests.at(-1)?.raw).toContain('Your answer does not fit its schema')
  })

  it('case 9: with backticks, braces and quotes inside a string comes through whole', async () => {
    const text = 'Use `x`:\n```json\n{"findings": []}\n```\nnot }{ "this"'
    bench.server.script.push(reporting(draft({ text })))
    const { record } = await runOn({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })
    expect(record.findings.map((finding) => finding.text)).toEqual([text])
  })
})

describe('case 10: success and error at once', () => {
  it('case 10: a report beside a call that failed is not taken: the model looks at the error first', async () => {
    const plain = plainModel()
    bench.server.model = (request, call) => {
      const reply = plain(request, call) as { tools?: { name: string; input: unknown }[] }
      const isMending = reply.tools?.some(({ name }) => name === 'edit_file') && !request.raw.includes('no such text')
      if (!isMending) return reply
      const edit = { name: 'edit_file', input: { file: 'a.txt', before: 'no such text', after: 'good' } }
      const given = /f-[0-9a-f]{10}/.exec(request.raw)?.[0]
      const input = { results: [{ id: given, status: 'fixed', note: null }], summary: 'Mended all of it.' }
      return { tools: [edit, { name: 'report', input }] }
    }
    const { state, record, sent } = await runOn({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })
    expect(sent.some((raw) => raw.includes('Not taken: another call of the same answer failed'))).toBe(true)
    expect(record.commits).toHaveLength(1)
    expect(state.verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
  })

  it('case 10: two reports at once, one clean and one not, are none', async () => {
    const both = { tools: [...(reporting() as { tools: [] }).tools, ...(reporting(draft()) as { tools: [] }).tools] }
    bench.server.script.push(both, reporting(draft()))
    const { record, sent, state } = await runOn({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })
    expect(sent[1]).toContain('there were several reports at once')
    expect(record.findings).toHaveLength(1)
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested' })
  })

  it.each(['guardrail_intervened', 'content_filtered', 'refusal'])(
    'case 10: a report that was withheld (%s) is a refusal',
    async (stop) => {
      bench.server.script.push({ ...reporting(), stop })
      expect(await failing({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })).toMatchObject({
        name: 'AgentRefused',
        message: expect.stringContaining(stop) as string,
      })
    },
  )

  it('case 10: who ends for its turn limit has not succeeded: the limit is the reason, and nothing is approved', async () => {
    bench.server.model = () => ({ text: 'All is fine so far.', tools: [{ name: 'list_files', input: { folder: null } }] })
    const { state, record } = await runOn({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' }, { overrides: { limits: { turn_calls: 7 } } })
    expect(record.turns).toMatchObject([{ ended: 'limit', limit: 'turn_calls', usage: { calls: 7 } }])
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'limit' })
  })
})

describe("case 11: a finding's lines", () => {
  it('case 11: an end before the start, a line outside the diff, a place in the diff, a duplicate: each becomes what it can be', async () => {
    const before = lines(8)
    const after = before.replace('line 2\n', 'bad 2\n').replace('line 3\n', 'bad 3\n')
    // Places in the diff: 1 line 1, 2 and 3 what is taken out, 4 and 5 bad 2 and 3, 6 to 10 line 4 to 8, 11 to 13 the new ones. The file has 11 lines.
    const added = Array.from({ length: 3 }, (_, at) => `new ${at}\n`).join('')
    bench.server.script.push(
      reporting(
        draft({ rule: 'swapped', line: 3, endLine: 2 }),
        draft({ rule: 'outside', line: 7, text: 'callers break' }),
        draft({ rule: 'place', line: 12, text: 'a place' }),
        draft({ rule: 'nowhere', line: 99, text: 'no place' }),
        draft({ rule: 'twice', line: 2, severity: 'info', text: 'wrong' }),
        draft({ rule: 'twice', line: 2, text: 'and slow' }),
      ),
    )
    const { record } = await runOverGit(await changeOf({ 'a.txt': before }, { 'a.txt': `${after}${added}` }))
    const found = Object.fromEntries(record.findings.map((finding) => [finding.rule, finding]))
    expect(Object.keys(found)).toEqual(['swapped', 'outside', 'place', 'nowhere', 'twice'])
    expect(found['swapped']).toMatchObject({ line: 2, endLine: 3, inDiff: true })
    expect(found['outside']).toMatchObject({ file: 'a.txt', inDiff: false, text: 'callers break (line 7)' })
    expect(found['outside']).not.toHaveProperty('line')
    expect(found['nowhere']).toMatchObject({ inDiff: false, text: 'no place (line 99)' })
    expect(found['twice']).toMatchObject({ line: 2, severity: 'error', text: 'and slow\nwrong' })
    expect(found['place']).toMatchObject({ inDiff: true, text: 'a place (given as line 12 of the diff)' })
    expect(`${after}${added}`.split('\n')[(found['place']?.line ?? 0) - 1]).toBe('new 1')
  })
})

describe("case 12: a finding's path", () => {
  const OUT = [
    '/etc/passwd',
    '../../etc/passwd',
    'src/../../x',
    '.git/config',
    '.GIT/hooks/pre-commit',
    'C:\\windows\\x',
    'nowhere.txt',
    'link',
  ]
  const linked = async (): Promise<TestRepository> => {
    const repository = await makeRepository()
    await repository.commit('base', { 'a.txt': 'one\n' })
    await repository.branch('change')
    await repository.write('link', '/etc/passwd', { link: true })
    await repository.commit('change', { 'a.txt': 'bad\n' })
    return repository
  }

  it('case 12: that leads out is refused: mended by the model on one request, never one finding less', async () => {
    bench.server.script.push(reporting(...OUT.map((file) => draft({ file })), draft()), reporting(draft()))
    const { state, record, sent } = await runOverGit(await linked())
    for (const file of OUT) expect(sent[1]).toContain(`${JSON.stringify(JSON.stringify(file)).slice(1, -1)} is refused`)
    expect(sent[1]?.split('is refused').length).toBe(OUT.length + 1)
    expect(record.findings).toMatchObject([{ file: 'a.txt' }])
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested' })
  })

  it('case 12: refused a second time is a failure of the turn', async () => {
    bench.server.model = () => reporting(draft({ file: '../a.txt' }))
    expect(await failing({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' })).toMatchObject({ name: 'AgentOutputInvalid' })
    expect(bench.server.requests).toHaveLength(2)
  })

  it('case 12: that leads out is read by no tool', async () => {
    bench.server.script.push({ tools: OUT.map((file) => ({ name: 'read_file', input: { file, line: null } })) })
    bench.server.model = () => reporting(draft())
    const { sent } = await runOverGit(await linked())
    expect(sent).toHaveLength(2)
    expect(sent[1]).not.toMatch(/root:x|repositoryformatversion/)
  })
})
