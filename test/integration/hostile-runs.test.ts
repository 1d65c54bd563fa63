/** Whole runs of the lint agent over changes that mean harm: they end as documented, and what they print cannot command a terminal. */
import { afterEach, expect, it } from 'vitest'
import { renderMarkdown } from '../../lib/loop/report-markdown.ts'
import { renderSarif } from '../../lib/loop/report-sarif.ts'
import { renderText } from '../../lib/loop/report-text.ts'
import { makeReport, report as reportSchema } from '../../lib/loop/report.ts'
import { makeChange, type TestRepository } from '../support/git-repository.ts'
import { hostileRepository, rawBlob, rawTree, type RawEntry } from '../support/hostile.ts'
import { lintRun, type LintRun } from '../support/lint-run.ts'

const opened: TestRepository[] = []
afterEach(async () => {
  for (const repository of opened.splice(0)) await repository.close()
})

const BAD = 'var a = { b: 1, b: 2 }\nexport { a }\n'
const NAMES = [
  'new\nline.js',
  'esc\u001b[31m.js',
  'bell\u0007.js',
  'turned\u202e.js',
  '$(touch pwned).js',
  '`id`.js',
  'quote\'".js',
  '-rf.js',
  '|<script>alert(1)</script>.js',
]

const reportOf = ({ ports, state, record }: LintRun) =>
  reportSchema.parse(makeReport({ run: ports.runs.runItems.get(state.runId)!, record }))
/** What could command a terminal, or turn the order of reading around. */
const COMMANDS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u

it('names that command a terminal, a shell or a page are told, reported on and fixed like others', async () => {
  const after = Object.fromEntries(NAMES.map((name) => [name, BAD]))
  const { repository, base, head } = await makeChange({ 'a.js': 'export const a = 1\n' }, after)
  opened.push(repository)
  const run = await lintRun(repository, { base, head }, { overrides: { ask: 'never' } })
  expect(run.state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'open-findings' })
  const report = reportOf(run)
  expect(new Set(report.findings.map(({ file }) => file))).toEqual(new Set(NAMES))
  expect(renderText(report, { paint: (_style, text) => text, history: true })).not.toMatch(COMMANDS)
  const markdown = renderMarkdown(report)
  expect(markdown).not.toMatch(COMMANDS)
  // In a span of code it is text, and a name cannot end one.
  expect(markdown.replace(/`[^`\n]*`/g, '')).not.toContain('<script>')
  expect(JSON.stringify(renderSarif(report))).not.toMatch(COMMANDS)
  // The fixes of `var` are there, in files of those very names and in no others.
  const names = (await repository.git('diff', '--name-only', '-z', head, run.fixes!)).split('\0').filter(Boolean)
  expect(names.toSorted()).toEqual(NAMES.toSorted())
})

it('a change of everything that cannot be linted is never approved, and each of it is told with its reason', async () => {
  const js = rawBlob(BAD)
  const pointer = rawBlob(`version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12\n`)
  const wide = rawBlob(`export const a = "${'x'.repeat(600_000)}"\n`)
  const utf16 = rawBlob(Buffer.from(`\ufeff${BAD}`, 'utf16le'))
  const latin = rawBlob(Buffer.from('export const a = "\xff\xfe"\n', 'latin1'))
  const link = rawBlob('/etc/passwd')
  const head: RawEntry[] = [
    ['a.js', js],
    [Buffer.from([0x62, 0xff, 0x2e, 0x6a, 0x73]), js],
    ['c\\d.js', js],
    ['latin.js', latin],
    ['lfs.js', pointer],
    ['link.js', link, '120000'],
    ['sub.js', rawBlob(''), '160000'],
    ['utf16.js', utf16],
    ['wide.js', wide],
  ]
  const { repository, source } = await hostileRepository({ base: rawTree([]), head: rawTree(head) }, [
    js,
    pointer,
    wide,
    utf16,
    latin,
    link,
  ])
  opened.push(repository)
  const run = await lintRun(repository, source, { overrides: { ask: 'never' } })
  expect(run.state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'open-findings' })
  const told = new Map(run.record.skipped.map(({ file, reason }) => [file, reason]))
  expect([...told.keys()].filter((file) => !file.includes('\ufffd')).toSorted()).toEqual(
    ['c\\d.js', 'latin.js', 'lfs.js', 'link.js', 'sub.js', 'utf16.js', 'wide.js'].filter((file) => told.has(file)).toSorted(),
  )
  const unread = run.record.findings.filter(({ rule, status }) => rule === 'not-reviewed' && status === 'open').map(({ file }) => file)
  expect(new Set(unread)).toEqual(new Set(told.keys()))
  expect(told.size).toBeGreaterThanOrEqual(6)
  expect(reportOf(run).skipped).toHaveLength(told.size)
})

it('an empty commit, a change of mode alone and a deletion of everything come to an end', async () => {
  const { repository, base } = await makeChange({ 'a.js': BAD, 'b.js': 'export const b = 1\n' }, {})
  opened.push(repository)
  const nothing = await lintRun(repository, { base, head: await repository.id() })
  expect([nothing.steps, nothing.state.verdict]).toMatchObject([
    ['Prepare', 'Publish', 'Close'],
    { outcome: 'approved', reason: 'nothing-to-review' },
  ])
  await repository.git('update-index', '--chmod=+x', 'a.js')
  await repository.git('commit', '--quiet', '-m', 'mode')
  expect((await lintRun(repository, { base, head: await repository.id() })).state.verdict).toMatchObject({
    outcome: 'approved',
    reason: 'clean',
  })
  const gone = await repository.commit('gone', { 'a.js': null, 'b.js': null })
  expect((await lintRun(repository, { base, head: gone })).state.verdict).toMatchObject({ outcome: 'approved', reason: 'clean' })
})
