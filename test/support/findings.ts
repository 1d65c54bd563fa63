import type { DiffFile } from '../../lib/loop/diff.ts'
import type { Finding, FindingDraft } from '../../lib/loop/finding.ts'
import { checkFindings, lineTextOf } from '../../lib/loop/findings.ts'

export const aDraft = (more: Partial<FindingDraft> = {}): FindingDraft => ({
  rule: 'no-eval',
  severity: 'error',
  action: 'auto-fix',
  file: 'src/a.ts',
  text: 'eval runs what it is given.',
  ...more,
})

/** A finding with an id of its own: `f-` and the digit ten times. */
export const aFinding = (digit: string, more: Partial<Finding> = {}): Finding => ({
  ...aDraft(),
  action: 'auto-fix',
  inDiff: false,
  id: `f-${digit.repeat(10)}`,
  ...more,
})

/** A diff file whose lines of these numbers are added. */
export const aDiffFile = (path: string, added: readonly number[], more: Partial<DiffFile> = {}): DiffFile => ({
  path,
  oldPath: null,
  status: 'modified',
  oldMode: '100644',
  newMode: '100644',
  omitted: null,
  hunks: added.map((line) => ({
    oldStart: line,
    oldCount: 0,
    newStart: line,
    newCount: 1,
    lines: [{ kind: 'added', text: '', oldLine: null, newLine: line }],
  })),
  ...more,
})

/** Checks drafts against these files, of which every line of the diff's files was added unless a diff is given. */
export const checked = (drafts: readonly FindingDraft[], contents: Record<string, string>, diff?: readonly DiffFile[]) => {
  const all = Object.entries(contents).map(([path, text]) =>
    aDiffFile(
      path,
      text.split('\n').map((_line, index) => index + 1),
    ),
  )
  return checkFindings(drafts, {
    diff: diff ?? all,
    files: new Set(Object.keys(contents)),
    lineText: lineTextOf(new Map(Object.entries(contents))),
  })
}
