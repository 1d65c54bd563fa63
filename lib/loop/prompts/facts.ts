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

/** Characters of commit messages in a prompt; one is 2,000 at most. */
const MOST_MESSAGES = 12_000

/** Messages of the change's commits, the newest first; null where there are none. */
export const messageLines = (messages: readonly string[]): string | null => {
  const told: string[] = []
  let size = 0
  for (const message of messages) {
    size += message.length
    if (size > MOST_MESSAGES) break
    told.push(message)
  }
  return messages.length === 0 ? null : [jsonLines(told), ...(told.length < messages.length ? ['and older ones'] : [])].join('\n')
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

/** What persons took out: told to a reviewer each time, to a fixer whose session begins in the middle of a run. */
export const declinedLines = (task: Task): string | null => {
  const declined = task.kind === 'fix' ? (task.handOver?.declined ?? []) : task.declined
  return declined.length === 0 ? null : jsonLines(declined)
}

/** What a session that begins in the middle of a run is told of what was tried; null where there is nothing to tell. */
export const triedLines = (handOver: HandOver, task: Task): string | null => {
  const listed = new Set((task.kind === 'fix' ? task.findings : task.outstanding).map(({ id }) => id))
  const tried = handOver.tried.filter(({ id }) => listed.has(id))
  return tried.length === 0 ? null : jsonLines(tried)
}
