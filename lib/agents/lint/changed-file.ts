/** A changed file as the linters see it: what there is to read in it, and what they say of the lines that changed. */
import { createHash } from 'node:crypto'
import { addedLines, type DiffFile } from '../../loop/diff.ts'
import { LoopError } from '../../loop/errors.ts'
import type { FindingDraft } from '../../loop/finding.ts'
import type { ReadFiles } from '../../loop/workspace.ts'
import { kindOf, type Kind } from './kinds.ts'
import type { RawFinding } from './rule.ts'
import { judge, rulesVersion, SYNTAX_ERROR } from './rules.ts'
import { MAX_BYTES, sourceText, type SourceText } from './source-text.ts'

export interface Readable {
  path: string
  kind: Kind
  source: SourceText
  bytes: Uint8Array
}

/** `nothing`: the change leaves no content of its own here (a deletion, a mere renaming or change of mode, an empty file). */
export type Opened = Readable | { skip: string } | { nothing: true }

const SYMLINK = '120000'

export const openChanged = async (file: DiffFile, files: ReadFiles): Promise<Opened> => {
  if (file.status === 'deleted' || (file.omitted === null && file.hunks.length === 0)) return { nothing: true }
  if (file.omitted !== null) return { skip: file.omitted }
  if (file.newMode === SYMLINK) return { skip: 'a symbolic link' }
  return openPath(file.path, files)
}

export const openPath = async (path: string, files: ReadFiles): Promise<Readable | { skip: string }> => {
  const kind = kindOf(path)
  if ('skip' in kind) return kind
  const bytes = await readBytes(path, files)
  if ('skip' in bytes) return bytes
  const source = sourceText(bytes)
  return 'skip' in source ? source : { path, kind: kind.kind, source, bytes }
}

const readBytes = async (path: string, files: ReadFiles): Promise<Uint8Array | { skip: string }> => {
  try {
    return (await files.read(path, MAX_BYTES)) ?? { skip: 'not a regular file' }
  } catch (error) {
    if (!(error instanceof LoopError)) throw error
    return { skip: error.name === 'ChangeTooLarge' ? `over ${MAX_BYTES / 1024} KB` : error.entry.meaning }
  }
}

/** Hash of all that the result for a file depends on. */
export const hashOf = ({ path, kind, bytes }: Readable, file: DiffFile): string =>
  createHash('sha256')
    .update(JSON.stringify([rulesVersion, path, kind, [...addedLines(file)]]))
    .update(bytes)
    .digest('hex')

export interface Result {
  findings: FindingDraft[]
  skip: string | null
}

const LONG_FLOW = /^\s*(?:\/\*[^]{0,1000}?|\/\/[^\n]*)@flow\b/u

/** Findings on changed lines. A file that does not parse somewhere else was not looked at. */
export const resultOf = ({ path, source }: Readable, file: DiffFile, raws: readonly RawFinding[]): Result => {
  const lines = source.text.split('\n')
  const added = addedLines(file)
  const broken = raws.filter((raw) => raw.rule === SYNTAX_ERROR)
  if (broken.length > 0 && LONG_FLOW.test(source.text)) return { findings: [], skip: 'Flow types, which no linter here reads' }
  const onChanged = raws.filter((raw) => added.has(raw.line))
  const brokenHere = onChanged.filter((raw) => raw.rule === SYNTAX_ERROR)
  if (broken.length > 0 && brokenHere.length === 0)
    return { findings: [], skip: `it does not parse, for what stands on line ${broken[0]?.line ?? 1}, which the change does not touch` }
  // one mistake makes a parser stumble many times
  const reported = broken.length > 0 ? brokenHere.slice(0, 1) : onChanged
  return {
    findings: reported
      .flatMap((raw) => judge(path, source.text, lines, raw)?.draft ?? [])
      .toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)),
    skip: null,
  }
}
