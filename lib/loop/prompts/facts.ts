/** What a prompt says of policy, repository, findings and history: each a piece of data, one line of JSON an entry. */
import picomatch from 'picomatch'
import type { HandOver, Task } from '../agent.ts'
import type { DiffFile } from '../diff.ts'
import type { TrackedFinding } from '../finding.ts'
import type { Policy } from '../policy.ts'
import { headOf, sizeOf } from './diff-text.ts'

const jsonLines = (entries: readonly unknown[]): string => entries.map((entry) => JSON.stringify(entry)).join('\n')

/** The instructions of the settings that match a changed file. */
export const instructionsFor = ({ path_instructions }: Pick<Policy, 'path_instructions'>, diff: readonly DiffFile[]): string | null => {
  const matching = path_instructions.filter(({ path }) => {
    const matches = picomatch(path.endsWith('/') ? `${path}**` : path, { dot: true })
    return diff.some((file) => matches(file.path))
  })
  return matching.length === 0 ? null : jsonLines(matching)
}

/** Names past these are counted, not listed: the diff of each is there to be asked for. */
const MOST_NAMES = 2000

/** All changed files: what was done to each, and how much. */
export const changedFiles = (diff: readonly DiffFile[]): string => {
  const lines = diff.slice(0, MOST_NAMES).map((file) => {
    const { added, removed } = sizeOf(file)
    return `${headOf(file)} +${added} -${removed}`
  })
  return [...lines, ...(diff.length > MOST_NAMES ? [`and ${diff.length - MOST_NAMES} more`] : [])].join('\n')
}

/** A finding as roles share it: without what anybody said of it. */
const sharedPart = ({ id, rule, severity, action, file, line, endLine, text }: TrackedFinding) => ({
  id,
  rule,
  severity,
  action,
  file,
  ...(line === undefined ? {} : { line }),
  ...(endLine === undefined ? {} : { endLine }),
  text,
})

export const findingLines = (findings: readonly TrackedFinding[]): string => jsonLines(findings.map(sharedPart))

/** A person's notes: on single findings, and on all. */
export const noteLines = (notes: Readonly<Record<string, string>>, findings: readonly TrackedFinding[]): string | null => {
  const given = new Set(findings.map(({ id }) => id))
  const lines = Object.entries(notes).flatMap(([id, note]) => (id === '' ? [{ on: 'all', note }] : given.has(id) ? [{ on: id, note }] : []))
  return lines.length === 0 ? null : jsonLines(lines)
}

/** What a session that begins in the middle of a run is told of the run so far; null where there is nothing to tell. */
export const historyLines = (handOver: HandOver, task: Task): { tried: string | null; declined: string | null } => {
  const listed = new Set((task.kind === 'fix' ? task.findings : task.outstanding).map(({ id }) => id))
  const tried = handOver.tried.filter(({ id }) => listed.has(id))
  return {
    tried: tried.length === 0 ? null : jsonLines(tried),
    declined: handOver.declined.length === 0 ? null : jsonLines(handOver.declined),
  }
}
