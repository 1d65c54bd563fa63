/** What a row of the rule tables is made of. A rule without a row is neither switched on nor reported. */
import type { Action, Severity } from '../../loop/finding.ts'

/** Replaces [start, end) of the text, in UTF-16 units. */
export interface TextEdit {
  start: number
  end: number
  text: string
}

/** What a linter says of one place. `line` counts line feeds alone, as git does. */
export interface RawFinding {
  rule: string
  line: number
  endLine: number
  /** Where it starts in the text, in UTF-16 units. */
  start: number
  message: string
  /** The linter's own fix; empty where it has none. */
  edits: TextEdit[]
}

/** The place of a finding, for rules whose worth or whose fix depends on it. */
export interface Site {
  path: string
  /** The whole text of the file, without a byte order mark. */
  text: string
  lineText: string
  raw: RawFinding
}

export interface Rule {
  severity: Severity
  /** Where no safe fix exists at a place. A finding with one is a warning to auto-fix. */
  action: Exclude<Action, 'auto-fix'>
  /** Why it matters, added to the linter's own message. */
  why: string
  /** Whether the linter's fix keeps the meaning at this place. Without it, no fix of the rule is ever applied. */
  safe?: (site: Site) => boolean
  /** Whether the rule tells the truth at this place. */
  holds?: (site: Site) => boolean
  /** Options of an ESLint rule. */
  options?: readonly unknown[]
}

export type RuleTable = Readonly<Record<string, Rule>>

type Extra = Partial<Pick<Rule, 'safe' | 'holds' | 'options'>>

/** Wrong for certain, or as good as: blocks, and a person has to say what was meant. */
export const defect = (why: string, extra: Extra = {}): Rule => ({ severity: 'error', action: 'ask-user', why, ...extra })
/** Nearly always wrong. */
export const suspect = (why: string, extra: Extra = {}): Rule => ({ severity: 'warning', action: 'ask-user', why, ...extra })
/** Worth knowing; never holds a change up. */
export const note = (why: string, extra: Extra = {}): Rule => ({ severity: 'info', action: 'no-op', why, ...extra })
/** A fix that cannot change what the code does. Where the linter offers none, the place is left in peace. */
export const fixable = (why: string, safe: (site: Site) => boolean = () => true, { holds = () => true, ...extra }: Extra = {}): Rule => ({
  ...note(why, extra),
  safe,
  holds: (site) => site.raw.edits.length > 0 && holds(site),
})
