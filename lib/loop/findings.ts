/** Findings as agents give them, checked against workspace and diff; and their ids. */
import { createHash } from 'node:crypto'
import { addedAt, additionsOf, type DiffFile, type IsAdded } from './diff.ts'
import { severity, type Finding, type FindingDraft, type Severity } from './finding.ts'
import { printable, redact } from './redact.ts'

/** Text of a line (from 1) of a file as it is now, without its LF; null past the file's end and where there is no such file. */
export type LineText = (file: string, line: number) => string | null

/** What findings are checked against. Only paths that `normalisePath` gives are asked for. */
export interface FindingContext {
  diff: readonly DiffFile[]
  /** The files of the workspace. */
  files: ReadonlySet<string> | ((path: string) => boolean)
  /** Whether the path, or a folder on the way to it, is a symlink. */
  isSymlink?: (path: string) => boolean
  lineText: LineText
}

export interface CheckedFindings {
  findings: Finding[]
  /** Never "clean": what is here has to be mended by the agent, or told to people. */
  refused: { draft: FindingDraft; reason: string }[]
}

/** `lineText` over contents that are in memory. Lines end at LF alone. */
export const lineTextOf = (contents: ReadonlyMap<string, string>): LineText => {
  const split = new Map<string, string[]>()
  return (file, line) => {
    const content = contents.get(file)
    if (content === undefined) return null
    const lines = split.get(file) ?? content.replace(/\n$/, '').split('\n')
    split.set(file, lines)
    return lines[line - 1] ?? null
  }
}

const MOST_PATH = 4096

/** A path from the root of the repository, with forward slashes; or why it is none. */
export const normalisePath = (path: string): { path: string } | { reason: string } => {
  if (path.includes('\0')) return { reason: 'the path holds a NUL' }
  const slashed = path.replaceAll('\\', '/')
  const parts = slashed.split('/').filter((part) => part !== '' && part !== '.')
  if (slashed.startsWith('/') || /^(?:~|[A-Za-z]:)$/.test(parts[0] ?? '')) return { reason: 'the path is absolute' }
  if (parts.includes('..')) return { reason: 'the path climbs out with ".."' }
  // File systems that fold case, and ones that drop trailing dots and spaces, take these for .git as well.
  if (parts.some((part) => /^(?:\.git|git~1)[. ]*$/i.test(part))) return { reason: 'the path lies in .git' }
  if (path.length > MOST_PATH) return { reason: 'the path is too long' }
  return parts.length ? { path: parts.join('/') } : { reason: 'the path names no file' }
}

type Place = Pick<FindingDraft, 'file' | 'rule' | 'line'>

/**
 * Ids that stay when lines above move: `f-` and 10 hex digits of file, rule, the line's text with its white space collapsed
 * ('' for a whole file), and its place among equal lines. Two drafts of one rule on one line are one finding.
 */
export const findingIds = (drafts: readonly Place[], lineText: LineText): string[] => {
  const keys = drafts.map(({ file, rule, line }) => {
    const text = line === undefined ? '' : (lineText(file, line) ?? '')
    return [file, rule, text.trim().replace(/\s+/g, ' ')]
  })
  const linesOf = new Map<string, Set<number>>()
  for (const [index, key] of keys.entries()) {
    const lines = linesOf.get(JSON.stringify(key)) ?? new Set()
    linesOf.set(JSON.stringify(key), lines.add(drafts[index]?.line ?? 0))
  }
  const placesOf = new Map(
    [...linesOf].map(([key, lines]) => [key, new Map([...lines].toSorted((a, b) => a - b).map((line, place) => [line, place]))]),
  )
  return keys.map((key, index) => {
    const ordinal = placesOf.get(JSON.stringify(key))?.get(drafts[index]?.line ?? 0)
    return `f-${createHash('sha256')
      .update(JSON.stringify([...key, ordinal]))
      .digest('hex')
      .slice(0, 10)}`
  })
}

/** Id of a finding of a whole file: nothing of the file's text is in it. */
export const wholeFileId = (file: string, rule: string): string => findingIds([{ file, rule }], () => null)[0] ?? ''

/**
 * Checks what an agent or a person gave. Refused: a path that leaves the workspace, is a symlink or names no file of it or of the
 * diff. Kept as a finding of the whole file: a line that the change did not add, or past the file's end, unless it counts the lines of
 * the diff and an added one stands there. A missing action is `ask-user`. Of two with one id the more severe is kept, with both texts. Texts come out redacted.
 */
export const checkFindings = (drafts: readonly FindingDraft[], context: FindingContext): CheckedFindings => {
  const refused: CheckedFindings['refused'] = []
  const placed: FindingDraft[] = []
  for (const draft of drafts) {
    const file = placeFile(draft.file, context)
    if ('reason' in file) refused.push({ draft, reason: file.reason })
    else placed.push(place(draft, file.path, context))
  }
  const ids = findingIds(placed, context.lineText)
  const isAdded = additionsOf(context.diff)
  const byId = new Map<string, Finding>()
  for (const [index, draft] of placed.entries()) {
    const id = ids[index] ?? ''
    const found = anchor(draft, id, isAdded)
    const other = byId.get(id)
    byId.set(id, other ? merge(other, found) : found)
  }
  return { findings: [...byId.values()], refused }
}

export const MOST_TEXT = 8000
const MOST_RULE = 200

/** What is redacted may have grown. */
export const cleanText = (text: string, most: number): string => printable(redact(text)).trim().slice(0, most).trim() || '(no text)'

const placeFile = (given: string, { diff, files, isSymlink }: FindingContext): { path: string } | { reason: string } => {
  const isFile = (path: string) => (typeof files === 'function' ? files(path) : files.has(path))
  // A file may be called what would be taken for another system's path: its exact name is its own.
  const normal = isFile(given) ? { path: given } : normalisePath(given)
  if ('reason' in normal) return normal
  const { path } = normal
  if (isSymlink?.(path)) return { reason: 'the path is a symlink' }
  if (isFile(path)) return normal
  const renamed = diff.find(({ oldPath }) => oldPath === path)
  if (renamed) return { path: renamed.path }
  // A deleted file is no longer in the workspace, but what its removal breaks may be said of it.
  return diff.some((file) => file.path === path) ? normal : { reason: 'there is no such file in the workspace' }
}

/** First and last line in order and inside the file; neither where the file has no such line. */
const place = ({ line, endLine, ...draft }: FindingDraft, file: string, { diff, lineText }: FindingContext): FindingDraft => {
  const rest = { ...draft, file, rule: cleanText(draft.rule, MOST_RULE), text: cleanText(draft.text, MOST_TEXT) }
  const [from = endLine, to = line] = [line, endLine]
  if (from === undefined || to === undefined) return rest
  const first = Math.min(from, to)
  if (lineText(file, first) === null) {
    // A number that the file does not have may count the lines of the diff. Of a file that cannot be read nobody knows what it has.
    const meant = lineText(file, 1) === null ? null : addedAt(diff, file, first)
    if (meant === null || lineText(file, meant) === null) return { ...rest, text: withRemark(rest.text, `line ${first}`) }
    return { ...rest, line: meant, text: withRemark(rest.text, `given as line ${first} of the diff`) }
  }
  const last = lastLine(file, first, Math.max(from, to), lineText)
  return { ...rest, line: first, ...(last > first && { endLine: last }) }
}

/** The last line that exists from `low`, which does, up to `high`. */
const lastLine = (file: string, low: number, high: number, lineText: LineText): number => {
  let [first, last] = [low, high]
  while (first < last) {
    const middle = first + Math.ceil((last - first) / 2)
    if (lineText(file, middle) === null) last = middle - 1
    else first = middle
  }
  return first
}

const withRemark = (text: string, remark: string): string => `${text.slice(0, MOST_TEXT - 100)} (${remark})`

/** A line that the change did not add is said in the text; the finding is then one of the whole file. */
const anchor = ({ line, endLine, ...draft }: FindingDraft, id: string, isAdded: IsAdded): Finding => {
  const found = { ...draft, id, action: draft.action ?? 'ask-user' }
  if (line === undefined) return { ...found, inDiff: false }
  const inDiff = isAdded(draft.file, line, endLine ?? line)
  if (!inDiff) return { ...found, text: withRemark(found.text, `line ${line}`), inDiff }
  return { ...found, line, ...(endLine !== undefined && { endLine }), inDiff }
}

/** 0 is the most severe. */
export const severityRank = (given: Severity): number => severity.options.indexOf(given)

/** One finding of two with the same id: the more severe, and both texts. */
const merge = (a: Finding, b: Finding): Finding => {
  const [kept, other] = severityRank(b.severity) < severityRank(a.severity) ? [b, a] : [a, b]
  return kept.text.includes(other.text) ? kept : { ...kept, text: `${kept.text}\n${other.text}`.slice(0, 8000) }
}
