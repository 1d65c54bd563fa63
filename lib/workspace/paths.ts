/** Which paths of a repository the tools take. Pure. */
import { LoopError } from '../loop/errors.ts'

/** Code points that some file systems ignore in names, so that `.g<U+200C>it` opens `.git` there. */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** True for `.git` in any spelling that some file system takes for it. */
const isGitFolder = (segment: string): boolean => {
  const plain = segment
    .replace(IGNORED, '')
    .split(':')[0]!
    .replace(/[. ]+$/, '')
    .toLowerCase()
  return plain === '.git' || /^git~\d+$/.test(plain)
}

/** Why the tools do not take a path; null where they do. */
export const pathProblem = (path: string): string | null => {
  if (path === '') return 'is empty'
  if (Buffer.byteLength(path) > 4096) return 'is too long'
  if (path.includes('\0')) return 'holds a NUL'
  if (path.includes('\ufffd')) return 'is not UTF-8'
  if (path.includes('\\')) return 'holds a backslash'
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'is absolute'
  const segments = path.split('/')
  if (segments.some((segment) => segment === '..')) return 'leads upwards'
  if (segments.some((segment) => segment === '' || segment === '.')) return 'has an empty segment'
  return segments.some(isGitFolder) ? 'lies in .git' : null
}

/** The segments of a relative path. Errors: OutsideWorkspace, naming what is wrong. */
export const checkedPath = (path: string): string[] => {
  const problem = pathProblem(path)
  if (problem) throw new LoopError('OutsideWorkspace', `${JSON.stringify(path.slice(0, 200))} ${problem}`, { path: path.slice(0, 200) })
  return path.split('/')
}
