/** The reviewer and the certifier: linters over the changed files. */
import type { ReviewTask } from '../../loop/agent.ts'
import type { DiffFile } from '../../loop/diff.ts'
import type { FindingDraft } from '../../loop/finding.ts'
import { findingIds } from '../../loop/findings.ts'
import type { Account, ReviewOutput, SkippedFile } from '../../loop/output.ts'
import { hashOf, openChanged, resultOf, type Readable, type Result } from './changed-file.ts'
import type { FileEntry } from './entries.ts'
import { RULES } from './rules.ts'
import type { Work, Worked } from './work.ts'

interface Looked {
  findings: FindingDraft[]
  skipped: SkippedFile[]
  /** Text of the files that were looked at, by path and line. */
  lines: Map<string, string[]>
  linted: number
  unchanged: number
}

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const counted = ({ linted, unchanged, skipped }: Looked): string =>
  `linted ${linted} of ${plural(linted + unchanged, 'file')}, ${unchanged} unchanged${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`

/**
 * Every finding that stands is given, whether or not it is outstanding, so that its line is the present one; outstanding ones are
 * accounted for besides. In a file that was skipped nothing is known to be gone.
 */
export const review = async (work: Work, task: ReviewTask): Promise<Worked> => {
  const known = new Map(work.entries.flatMap((entry) => (entry.type === 'file' ? [[entry.path, entry] as const] : [])))
  const looked: Looked = { findings: [], skipped: [], lines: new Map(), linted: 0, unchanged: 0 }
  for (const file of task.diff) {
    const opened = await openChanged(file, work.turn.files)
    if ('nothing' in opened) continue
    if ('skip' in opened) {
      looked.skipped.push({ file: file.path, reason: opened.skip })
      continue
    }
    const hash = hashOf(opened, file)
    const before = known.get(file.path)
    const isKnown = before?.hash === hash
    if (!isKnown && work.pace.due) return { kind: 'checkpoint' }
    const result = isKnown ? before : await lintFile(work, file, opened, hash)
    looked[isKnown ? 'unchanged' : 'linted'] += 1
    looked.findings.push(...result.findings)
    looked.lines.set(file.path, opened.source.text.split('\n'))
    if (result.skip !== null) looked.skipped.push({ file: file.path, reason: result.skip })
  }
  work.turn.progress(counted(looked))
  return { kind: 'done', output: outputOf(looked, task) }
}

/** What a linter gave up on may do better another time, so it is not remembered. */
const lintFile = async (work: Work, file: DiffFile, readable: Readable, hash: string): Promise<Result> => {
  const linted = await work.lint(readable.kind, readable.source.text)
  work.pace.didFile()
  if ('skip' in linted) return { findings: [], skip: linted.skip }
  const result = resultOf(readable, file, linted.findings)
  work.turn.transcript.append({ type: 'file', path: file.path, hash, ...result } satisfies FileEntry)
  return result
}

const outputOf = (looked: Looked, task: ReviewTask): ReviewOutput => {
  const { findings, skipped, lines } = looked
  const ids = new Set(findingIds(findings, (file, line) => lines.get(file)?.[line - 1] ?? null))
  const unread = new Set(skipped.map(({ file }) => file))
  const accounts = task.outstanding.flatMap(({ id, rule, file }): Account[] => {
    if (ids.has(id)) return [{ id, status: 'open' }]
    // of rules that are not ours nothing can be said
    return unread.has(file) || !Object.hasOwn(RULES, rule) ? [] : [{ id, status: 'fixed' }]
  })
  const count = counted(looked)
  const summary = `${count.charAt(0).toUpperCase()}${count.slice(1)}: ${plural(findings.length, 'finding')}.`
  return { findings, accounts, skipped, summary }
}
