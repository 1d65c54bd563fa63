import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { applyReview } from '../../lib/loop/ledger.ts'
import { emptyRecord } from '../../lib/loop/record.ts'
import { verdict } from '../../lib/loop/run.ts'
import { OUTCOMES } from '../../lib/names.ts'
import { makeReport, report, type Report } from '../../lib/loop/report.ts'
import { renderMarkdown } from '../../lib/loop/report-markdown.ts'
import { renderSarif } from '../../lib/loop/report-sarif.ts'
import { type Paint, renderText } from '../../lib/loop/report-text.ts'
import { aFinding } from '../support/findings.ts'
import { aRecord, aRun } from '../support/report.ts'

const whole = (more: Parameters<typeof aRun>[0] = {}) => makeReport({ run: aRun(more), record: aRecord() })
const QUESTION = {
  id: 'q3',
  why: 'no-change' as const,
  record: 'records/x',
  open: 1,
  roundsLeft: 2,
  reason: 'It is generated.',
  askedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-04T00:00:00.000Z',
}
const failed = { outcome: 'failed', reason: 'failed', by: null, error: 'FetchRefused' } as const

/** Findings, notices and so on with everything in them that a format could trip over. */
const NASTY =
  'a | b <script>x</script> `code` *b* _i_ [l](javascript:x) #1 @ada https://example.com \u001b[31m\u202e\r\n- item\n===\n# head & &amp; ~~s~~'
const nasty = (): Report => {
  const record = aRecord()
  const [first, ...others] = record.findings
  const findings = first
    ? [{ ...first, status: 'open' as const, text: NASTY, rule: NASTY.slice(0, 190), file: 'a|b/`c`<d>.ts' }, ...others]
    : []
  return makeReport({
    run: aRun({ failure: { error: 'GitFailed', message: NASTY }, verdict: failed }),
    record: { ...record, findings, notices: [NASTY, 'y'.repeat(350)], skipped: [{ file: 'x', reason: NASTY }] },
  })
}

describe('the report', () => {
  test('tells the whole run and fits its schema', () => {
    const made = whole()
    expect(report.parse(made)).toEqual(made)
    expect(made).toMatchObject({
      version: 1,
      run: 'r-0123456789abcdef',
      outcome: 'approved',
      reason: 'certified',
      rounds: 1,
      spent: { tokens: 380, dollars: 0.75, milliseconds: 8000 },
      sessions: [
        { role: 'reviewer', fingerprints: ['abcdef012345'] },
        { role: 'fixer', fingerprints: ['fedcba543210'] },
      ],
      fixes: { commit: 'c'.repeat(40), branch: 'reviewloop/r-0123456789abcdef', patch: 'reports/r-0123456789abcdef/report.patch' },
      error: null,
    })
    expect(made.turns).toHaveLength(4)
    expect(made.findings.map(({ status }) => status)).toEqual(['fixed', 'declined', 'open', 'withdrawn'])
  })

  test('never holds the task token', () => {
    expect(JSON.stringify(whole())).not.toContain('the-task-token')
  })

  test('of a run that never took a turn is empty and valid', () => {
    const made = makeReport({ run: aRun({ verdict: null, status: 'running', endedAt: null, reports: {} }), record: null })
    expect(report.parse(made)).toMatchObject({
      outcome: null,
      fixes: null,
      rounds: 0,
      findings: [],
      spent: { tokens: 0, dollars: 0, milliseconds: 0 },
    })
  })

  test.each(['failed', 'aborted', 'superseded'] as const)('of a run that is %s names its patch and no branch', (outcome) => {
    const made = whole({ verdict: { outcome, reason: outcome, by: null, error: null } })
    expect(made.fixes).toMatchObject({ branch: null, patch: 'reports/r-0123456789abcdef/report.patch' })
    expect(renderText(made)).toContain('Nothing was published; the fixes are kept as a patch.')
  })

  test('says what failed and what to do about it, also without a row of its own', () => {
    expect(whole({ failure: { error: 'FetchRefused', message: 'No such repository.' }, verdict: failed }).error).toEqual({
      name: 'FetchRefused',
      message: 'No such repository.',
      remedy: expect.stringContaining('REVIEWLOOP_GIT_TOKEN'),
    })
    expect(whole({ failure: null, verdict: failed }).error).toMatchObject({
      name: 'FetchRefused',
      message: expect.stringContaining('refused'),
    })
    expect(whole({ failure: { error: 'Lambda.Unknown', message: 'gone' }, verdict: failed }).error?.remedy).toContain('--again')
  })

  test('tells of the decision that no record has yet, once', () => {
    const decision = { question: 'q9', answer: { kind: 'skip' as const }, by: 'bob', at: '2026-01-01T00:00:00.000Z' }
    expect(whole({ decision }).decisions.map(({ question }) => question)).toEqual(['q1', 'q9'])
    expect(whole({ decision: { ...decision, question: 'q1' } }).decisions).toHaveLength(1)
  })

  test('does not know dollars that nobody told', () => {
    const record = aRecord()
    const turns = record.turns.filter(({ usage }) => usage.dollars === null)
    expect(makeReport({ run: aRun(), record: { ...record, turns } }).spent.dollars).toBeNull()
  })

  test('counts what was spent on attempts that came to nothing', () => {
    const unfinished = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, dollars: null, calls: 2 }
    const none = makeReport({ run: aRun(), record: null, unfinished }).spent
    expect(none).toEqual({ tokens: 110, dollars: null, milliseconds: 0 })
    const spent = makeReport({ run: aRun(), record: aRecord(), unfinished: { ...unfinished, dollars: 0.25 } }).spent
    expect(spent).toEqual({ tokens: 490, dollars: 1, milliseconds: 8000 })
  })

  test('holds no secret, wherever it was written', () => {
    const secret = `ghp_${'x'.repeat(36)}`
    const record = { ...aRecord(), notices: [secret], skipped: [{ file: 'a', reason: secret }] }
    const made = makeReport({ run: aRun({ failure: { error: 'GitFailed', message: secret } }), record })
    for (const text of [JSON.stringify(made), renderText(made), renderMarkdown(made), JSON.stringify(renderSarif(made))])
      expect(text).not.toContain(secret)
  })
})

describe('text', () => {
  test('is plain lines of at most 100 columns', () => {
    for (const made of [whole(), nasty(), whole({ status: 'parked', verdict: null, question: QUESTION })]) {
      for (const history of [true, false]) {
        const lines = renderText(made, { history }).split('\n')
        expect(lines.filter((line) => line.length > 100)).toEqual([])
        expect(lines.filter((line) => /[^\P{Cc}\t]|\u202e/u.test(line))).toEqual([])
      }
    }
  })

  test('says how it ended, what happened to each finding, and how to take the fixes', () => {
    const text = renderText(whole(), { history: true })
    expect(text.split('\n')[0]).toBe('Approved: a reader without a session found nothing that blocks')
    expect(text).toContain('3  round 1  reviewer   resumed')
    expect(text).toContain('fixed in round 1 by cccccccccc')
    expect(text).toContain('- declined (turn 2, ada): as agreed')
    expect(text).toContain('src/b.ts (cccccccccc)')
    expect(text.trimEnd().split('\n').slice(-4)).toEqual([
      '  branch: reviewloop/r-0123456789abcdef',
      '  git switch feature &&',
      '  git pull --ff-only https://example.com/team/project reviewloop/r-0123456789abcdef',
      '  patch: reports/r-0123456789abcdef/report.patch',
    ])
  })

  test('of a parked run asks its question', () => {
    const text = renderText(whole({ status: 'parked', verdict: null, question: QUESTION }))
    expect(text).toContain('Parked: a person is asked')
    expect(text).toContain('The fixer changed nothing. It says: It is generated.')
    expect(text).toContain('1 open, 2 round(s) left; until 2026-01-04T00:00:00.000Z')
  })

  test('is painted only by what it is given', () => {
    const styles: string[] = []
    const paint: Paint = (style, text) => {
      styles.push(style)
      return `<${style}>${text}</>`
    }
    expect(renderText(whole(), { paint }).replaceAll(/<\/?[a-z]*>/g, '')).toBe(renderText(whole()))
    expect(styles).toEqual(expect.arrayContaining(['good', 'bold', 'dim']))
  })

  test.each(OUTCOMES)('has words for %s, whatever the reason', (outcome) => {
    for (const reason of verdict.shape.reason.options)
      for (const text of [renderText(whole({ verdict: { outcome, reason, by: 'ada', error: null } }))])
        expect(text).toMatch(/^[A-Z][a-z ]+: .* \(ada\)\n/)
  })
})

describe('what a terminal is spared', () => {
  const crowd = (count: number) =>
    Array.from({ length: count }, (_, at) => aFinding('0', { id: `f-${String(at).padStart(10, '0')}`, file: `src/f${at}.ts` }))

  test('forty findings of a kind and the count of the rest; with history all of them', () => {
    const record = applyReview(emptyRecord(), { role: 'reviewer', turn: 1, round: 0, findings: crowd(60), accounts: [], given: [] })
    const crowded = makeReport({ run: aRun(), record })
    expect(renderText(crowded)).toContain('and 20 more, in the report')
    expect(renderText(crowded)).not.toContain('src/f59.ts')
    expect(renderText(crowded, { history: true })).toContain('src/f59.ts')
  })

  test('files that nobody looked at stand in one list, with their ids and what to do', () => {
    const unread = aFinding('1', { rule: 'not-reviewed', file: 'x.rs', severity: 'warning', action: 'ask-user' })
    const looked = applyReview(emptyRecord(), { role: 'reviewer', turn: 1, round: 0, findings: [unread], accounts: [], given: [] })
    const text = renderText(makeReport({ run: aRun(), record: { ...looked, skipped: [{ file: 'x.rs', reason: 'no linter' }] } }))
    expect(text).toContain(`${unread.id} x.rs: no linter`)
    expect(text.match(/x\.rs/g)).toHaveLength(1)
    expect(text).toContain('unread: disclose')
  })
})

describe('markdown', () => {
  test('lets nothing that others wrote become markup', () => {
    const text = renderMarkdown(nasty())
    expect(text).not.toMatch(/<script|\]\(|\*b\*|(?<!&#)(?<=\s)#1|@ada|https:\/\/example\.com \u001b|\u202e|^- item|^===|^# head/m)
    const rows = text.split('\n').filter((line) => line.startsWith('| `f-'))
    expect(rows).toHaveLength(4)
    expect(rows.map((row) => row.split(/(?<!\\)\|/).length)).toEqual([7, 7, 7, 7])
  })

  test('tells the same as the text', () => {
    const text = renderMarkdown(whole())
    expect(text).toContain('# Approved: a reader without a session found nothing that blocks')
    expect(text).toContain('| 3 | 1 | reviewer | resumed | the session of turn 1 | lint 1.0.0 | `abcdef012345` | 0 | 0 | 0 | 2.0 s |')
    expect(text).toContain('- declined (turn 2, ada): as agreed')
    expect(text).toContain('- branch: `reviewloop/r-0123456789abcdef`')
    expect(text).toContain(
      '\n\n    git switch feature &&\n    git pull --ff-only https://example.com/team/project reviewloop/r-0123456789abcdef\n',
    )
    expect(text).toContain('- big file.sql: over 512 KB')
    expect(renderMarkdown(whole({ status: 'parked', verdict: null, question: QUESTION }))).toContain('It says: It is generated.')
  })

  test('stays short enough for a page', () => {
    const record = aRecord()
    const [first] = record.findings
    const findings = first ? Array.from({ length: 700 }, () => first) : []
    expect(renderMarkdown(makeReport({ run: aRun(), record: { ...record, findings } }))).toContain('And 200 more, in the JSON report.')
  })
})

describe('SARIF', async () => {
  const path = fileURLToPath(import.meta.resolve('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json'))
  const { id: _id, $schema: _draft, ...schema } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
  const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false })
  addFormats.default(ajv)
  const validate = ajv.compile(schema)
  const problems = (log: unknown) => (validate(JSON.parse(JSON.stringify(log))) ? [] : validate.errors)

  test('is valid by the schema of the standard', () => {
    for (const made of [whole(), nasty(), makeReport({ run: aRun({ verdict: null, status: 'running', endedAt: null }), record: null })])
      expect(problems(renderSarif(made))).toEqual([])
    const local = aRun({ request: { ...aRun().request, repository: '/home/ada/project', branch: null } })
    expect(problems(renderSarif(makeReport({ run: local, record: aRecord() })))).toEqual([])
  })

  test('the schema finds what is wrong', () => {
    const log = renderSarif(whole())
    expect(problems({ ...log, version: '3' })).not.toEqual([])
    expect(problems({ ...log, runs: [{ ...log.runs[0], results: [{ level: 'fatal', message: {} }] }] })).not.toEqual([])
  })

  test('shows what is open, and what was declined as suppressed; nothing else', () => {
    const [run] = renderSarif(whole()).runs
    expect(run?.results).toMatchObject([
      {
        ruleId: 'naming',
        ruleIndex: 0,
        level: 'warning',
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: 'src/odd%20name/%C3%BC%231.ts' },
              region: { startLine: 7, endLine: 9 },
            },
          },
        ],
        partialFingerprints: { 'reviewloopFinding/v1': aFinding('b').id },
        suppressions: [{ justification: 'Declined by ada. as agreed' }],
      },
      { ruleId: 'style', ruleIndex: 1, level: 'note' },
    ])
    expect(run?.results[1]).not.toHaveProperty('suppressions')
    expect(run?.tool.driver.rules).toEqual([{ id: 'naming' }, { id: 'style' }])
  })

  test('says what was not looked at, and that a run failed', () => {
    const invocation = renderSarif(whole({ verdict: failed })).runs[0]?.invocations[0]
    expect(invocation).toMatchObject({ executionSuccessful: false })
    expect(invocation?.toolExecutionNotifications.map(({ message }) => message.text)).toEqual([
      'Not looked at: over 512 KB',
      'The settings of the head are not used.',
      expect.stringContaining('FetchRefused'),
    ])
  })
})
