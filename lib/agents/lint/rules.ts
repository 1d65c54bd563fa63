/** The rule tables as one, what a finding of theirs amounts to, and their version. */
import { createHash } from 'node:crypto'
import type { FindingDraft } from '../../loop/finding.ts'
import { defect, note, type RawFinding, type Rule, type RuleTable, type TextEdit } from './rule.ts'
import { PYTHON_RULES } from './rules-python.ts'
import { SCRIPT_RULES } from './rules-script.ts'
import { TEXT_RULES } from './rules-text.ts'

/** Rule of a file that does not parse. No linter has it: the workers report it. */
export const SYNTAX_ERROR = 'syntax-error'
/** Rule of CSS that browsers skip and go on after. */
export const CSS_SKIPPED = 'css-skipped'

/** Written for browsers that take it. */
const OLD_BROWSERS = /progid:|expression\(|^\s*[*_]/u

export const RULES: RuleTable = {
  [SYNTAX_ERROR]: defect('The file does not parse, so nothing else in it was checked.'),
  [CSS_SKIPPED]: note('Browsers skip the declaration or the rule.', { holds: ({ lineText }) => !OLD_BROWSERS.test(lineText) }),
  ...SCRIPT_RULES,
  ...PYTHON_RULES,
  ...TEXT_RULES,
}

const source = (value: unknown): unknown => (typeof value === 'function' ? value.toString() : value)

/** Changes with every change of a table, so that results of other rules are not taken for these. */
export const rulesVersion = createHash('sha256')
  .update(JSON.stringify(RULES, (_key, value) => source(value)))
  .digest('hex')
  .slice(0, 8)

export interface Judged {
  draft: FindingDraft
  /** The edits that may be applied; empty where the action is not auto-fix. */
  edits: TextEdit[]
}

const rated = (rule: Rule, fix: boolean): Pick<FindingDraft, 'severity' | 'action'> =>
  fix ? { severity: 'warning', action: 'auto-fix' } : { severity: rule.severity, action: rule.action }

/** What a linter's finding amounts to; null where the table does not know the rule, or knows better at this place. */
export const judge = (path: string, text: string, lines: readonly string[], raw: RawFinding): Judged | null => {
  const rule = RULES[raw.rule]
  const site = { path, text, lineText: lines[raw.line - 1] ?? '', raw }
  if (!rule || (rule.holds && !rule.holds(site))) return null
  const fix = raw.edits.length > 0 && rule.safe !== undefined && rule.safe(site)
  const message = /[.!?]$/u.test(raw.message) ? raw.message : `${raw.message}.`
  return {
    draft: {
      rule: raw.rule,
      ...rated(rule, fix),
      file: path,
      line: raw.line,
      ...(raw.endLine > raw.line ? { endLine: raw.endLine } : {}),
      text: `${message} ${rule.why}`.trim().slice(0, 2000),
    },
    edits: fix ? raw.edits : [],
  }
}
