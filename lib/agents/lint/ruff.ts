/** Ruff over one Python file. Runs in the worker. */
import { PositionEncoding, Workspace, type Diagnostic } from '@astral-sh/ruff-wasm-nodejs'
import { gitLineStarts, lineAt, lineStarts, offsetOf } from './lines.ts'
import type { RawFinding } from './rule.ts'
import { RULES, SYNTAX_ERROR } from './rules.ts'
import { hasDirective, holdsMask, maskDirectives } from './suppressions.ts'

const PREFIX = 'ruff/'
/** Names of Python 2, of gettext and of notebooks, which code asks for behind a test that Ruff cannot follow. */
const BUILTINS = [
  '_',
  'basestring',
  'buffer',
  'cmp',
  'execfile',
  'file',
  'get_ipython',
  'long',
  'raw_input',
  'reduce',
  'reload',
  'unichr',
  'unicode',
  'xrange',
]

const workspace = new Workspace(
  {
    // the newest, so that no syntax is refused for its age
    'target-version': 'py314',
    builtins: BUILTINS,
    lint: { select: Object.keys(RULES).flatMap((rule) => (rule.startsWith(PREFIX) ? [rule.slice(PREFIX.length)] : [])), preview: false },
  },
  PositionEncoding.Utf16,
)

export const lintPython = (text: string): RawFinding[] => {
  const masked = hasDirective(text) ? maskDirectives(text, workspace.tokens(text)) : text
  const starts = lineStarts(text, /\r\n|[\r\n]/gu)
  const gitStarts = gitLineStarts(text)
  const at = (place: { row: number; column: number }): number => offsetOf(starts, place.row, place.column - 1, text.length)
  return (workspace.check(masked) as Diagnostic[]).map((found) => {
    const edits = (found.fix?.edits ?? []).map((edit) => ({
      start: at(edit.location),
      end: at(edit.end_location),
      text: edit.content ?? '',
    }))
    const start = at(found.start_location)
    return {
      rule: found.code === null || found.code === 'invalid-syntax' ? SYNTAX_ERROR : `${PREFIX}${found.code}`,
      line: lineAt(gitStarts, start),
      endLine: lineAt(gitStarts, Math.max(start, at(found.end_location) - 1)),
      start,
      message: found.message,
      edits: edits.some((edit) => holdsMask(edit.text)) ? [] : edits,
    }
  })
}
