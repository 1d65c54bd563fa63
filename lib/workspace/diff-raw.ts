/** Parses `git diff-tree -r -z --raw`: names come from here, where git quotes nothing. Pure. */
import { pathProblem } from './paths.ts'

export interface RawChange {
  /** A, M, D, R, C or T. */
  status: string
  /** null where the file is absent on that side. */
  oldMode: string | null
  newMode: string | null
  oldId: string
  newId: string
  path: string
  oldPath: string | null
  /** Why the tools cannot take the path; null where they can. */
  problem: string | null
}

const NUL = 0

const fieldsOf = (bytes: Buffer): Buffer[] => {
  const fields: Buffer[] = []
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(NUL, start)
    fields.push(bytes.subarray(start, end < 0 ? bytes.length : end))
    start = end < 0 ? bytes.length : end + 1
  }
  return fields
}

/** NUL-terminated names, as `-z` gives them. */
export const namesOf = (bytes: Buffer): string[] => fieldsOf(bytes).map((field) => field.toString('utf8'))

const modeOf = (mode: string): string | null => (mode === '000000' ? null : mode)

/** The changed files, in git's order. */
export const parseRaw = (bytes: Buffer): RawChange[] => {
  const fields = namesOf(bytes)
  const changes: RawChange[] = []
  for (let at = 0; at < fields.length;) {
    const [oldMode = '', newMode = '', oldId = '', newId = '', status = ''] = fields[at++]!.replace(/^:/, '').split(' ')
    const first = fields[at++] ?? ''
    const second = /^[RC]/.test(status) ? (fields[at++] ?? '') : null
    const path = second ?? first
    const oldPath = second === null ? null : first
    const problem = pathProblem(path) ?? (oldPath === null ? null : pathProblem(oldPath))
    changes.push({ status: status[0] ?? '', oldMode: modeOf(oldMode), newMode: modeOf(newMode), oldId, newId, path, oldPath, problem })
  }
  return changes
}
