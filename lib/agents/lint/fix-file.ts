/** Safe fixes of one file, for the findings given and no others. */
import type { TrackedFinding } from '../../loop/finding.ts'
import { applyEdits, compatible, moved, trimmed } from './edits.ts'
import type { Kind } from './kinds.ts'
import type { Linted } from './linters.ts'
import type { RawFinding, TextEdit } from './rule.ts'
import { judge, SYNTAX_ERROR } from './rules.ts'

export interface Outcome {
  id: string
  status: 'fixed' | 'not-fixed'
  note: string
}

/** A finding on its way through the passes: where it stands in the text as it is now. */
interface Target {
  id: string
  rule: string
  line: number
}

interface Fix {
  target: Target
  start: number
  edits: TextEdit[]
}

/** Fixes that overlap wait for the next pass, as do those that show themselves only then. */
const MAX_PASSES = 6

const notFixed = (id: string, note: string): Outcome => ({ id, status: 'not-fixed', note })

/**
 * The text with the fixes in it, and what became of each finding. A finding counts as fixed when the linter no longer finds it; if the
 * file no longer parses, nothing is changed.
 * @param findings Of this file, each with a line of `text`.
 */
export const fixText = async (
  file: { path: string; kind: Kind; text: string },
  findings: readonly TrackedFinding[],
  lint: (kind: Kind, text: string) => Promise<Linted>,
): Promise<{ text: string; outcomes: Outcome[] }> => {
  const outcomes: Outcome[] = []
  let text = file.text
  let open = findings.flatMap(({ id, rule, line }): Target[] => (line === undefined ? [] : [{ id, rule, line }]))
  for (const { id, line } of findings)
    if (line === undefined) outcomes.push(notFixed(id, 'It names no line, so there is nothing to find it by.'))

  for (let pass = 0; open.length > 0 && pass < MAX_PASSES; pass++) {
    const linted = await lint(file.kind, text)
    const broken = brokenBy(linted, pass)
    if (broken !== null) return { text: file.text, outcomes: findings.map(({ id }) => notFixed(id, broken)) }
    const step = plan(file.path, text, open, 'findings' in linted ? linted.findings : [], pass)
    outcomes.push(...step.outcomes)
    const { chosen, edits } = compatible(step.fixes)
    text = applyEdits(text, edits)
    const places = follow(text, step.fixes, edits)
    open = [...places].flatMap(([target, line]) => (line === null ? [] : [{ ...target, line }]))
    for (const [{ id }, line] of places)
      if (line === null) outcomes.push({ id, status: 'fixed', note: chosen.some(({ target }) => target.id === id) ? 'Fixed.' : WENT_WITH })
  }
  return { text, outcomes: [...outcomes, ...open.map(({ id }) => notFixed(id, 'Its fix was applied and did not help.'))] }
}

const WENT_WITH = 'It went with another fix.'

const brokenBy = (linted: Linted, pass: number): string | null => {
  if ('skip' in linted) return `The file ${linted.skip}.`
  if (!linted.findings.some(({ rule }) => rule === SYNTAX_ERROR)) return null
  return pass === 0 ? 'The file does not parse.' : 'The fixes would have broken the file.'
}

/** What can be fixed in this pass, and the findings that are settled. */
const plan = (
  path: string,
  text: string,
  open: readonly Target[],
  raws: readonly RawFinding[],
  pass: number,
): { fixes: Fix[]; outcomes: Outcome[] } => {
  const lines = text.split('\n')
  const fixes: Fix[] = []
  const outcomes: Outcome[] = []
  for (const target of open) {
    const found = raws.filter((raw) => raw.rule === target.rule && raw.line === target.line)
    const fixable = found.flatMap((raw) => {
      const edits = judge(path, text, lines, raw)?.edits ?? []
      return edits.length > 0 ? [{ target, start: raw.start, edits: edits.map((edit) => trimmed(text, edit)) }] : []
    })
    if (found.length === 0)
      outcomes.push(
        pass === 0
          ? notFixed(target.id, `No linter finds ${target.rule} on that line.`)
          : { id: target.id, status: 'fixed', note: 'Fixed.' },
      )
    else if (fixable.length === 0) outcomes.push(notFixed(target.id, `No fix of ${target.rule} is safe here: a person has to change it.`))
    fixes.push(...fixable)
  }
  return { fixes, outcomes }
}

/** The line at which each target stands after the edits; null where it was taken out. */
const follow = (text: string, fixes: readonly Fix[], edits: readonly TextEdit[]): Map<Target, number | null> => {
  const places = new Map<Target, number | null>()
  for (const { target, start } of fixes) {
    const at = moved(start, edits)
    if (at !== null) places.set(target, text.slice(0, at).split('\n').length)
    else if (!places.has(target)) places.set(target, null)
  }
  return places
}
