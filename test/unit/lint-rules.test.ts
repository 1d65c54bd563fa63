import { describe, expect, it } from 'vitest'
import type { RawFinding } from '../../lib/agents/lint/rule.ts'
import { judge, RULES, rulesVersion } from '../../lib/agents/lint/rules.ts'
import { findingDraft } from '../../lib/loop/finding.ts'

const raw = (more: Partial<RawFinding>): RawFinding => ({
  rule: 'no-var',
  line: 1,
  endLine: 1,
  start: 0,
  message: 'Unexpected var',
  edits: [],
  ...more,
})
const judged = (text: string, found: RawFinding, path = 'a.js') => judge(path, text, text.split('\n'), found)
const fix = [{ start: 0, end: 3, text: 'let' }]

describe('rules', () => {
  it('make a valid draft of what a linter finds', () => {
    const found = judged('var a', raw({ edits: fix, endLine: 3 }))
    expect(findingDraft.parse(found?.draft)).toEqual({
      rule: 'no-var',
      severity: 'warning',
      action: 'auto-fix',
      file: 'a.js',
      line: 1,
      endLine: 3,
      text: 'Unexpected var. Its scope is the whole function.',
    })
    expect(found?.edits).toEqual(fix)
  })

  it('say for information what could be fixed and cannot here', () => {
    const rule = '@typescript-eslint/no-unused-vars'
    expect(judged('const a = 1', raw({ rule }))?.draft).toMatchObject({ severity: 'info', action: 'no-op' })
    expect(judged('import a\nexport {}', raw({ rule, edits: [{ start: 0, end: 9, text: '' }] }))?.draft).toMatchObject({
      severity: 'warning',
      action: 'auto-fix',
    })
  })

  it('leave in peace what is only worth a word where it can be fixed', () => {
    expect(judged('var a', raw({}))).toBeNull()
  })

  it('never pass on the fix of a rule that is not listed as safe', () => {
    const found = judged('x', raw({ rule: 'ruff/B006', edits: fix }))
    expect(found).toMatchObject({ draft: { severity: 'info', action: 'no-op' }, edits: [] })
  })

  it('know no rule by an inherited name', () => {
    expect(judged('x', raw({ rule: 'no-such-rule' }))).toBeNull()
  })

  it.each([
    ['##B', true],
    ['#B', false],
    ['#12 is fixed', false],
  ])('take %s for a heading: %s', (text, holds) => {
    const found = judged(text, raw({ rule: 'markdown/no-missing-atx-heading-space', edits: [{ start: 2, end: 2, text: ' ' }] }), 'a.md')
    expect(found !== null).toBe(holds)
  })

  it('ask a person only about errors and warnings', () => {
    for (const [name, rule] of Object.entries(RULES))
      expect([name, rule.action]).toEqual([name, rule.severity === 'info' ? 'no-op' : 'ask-user'])
  })

  it('have a version', () => {
    expect(rulesVersion).toMatch(/^[0-9a-f]{8}$/u)
  })
})
