/** Branches of a repository of this machine: which are worked on, and whether another could be made. */
import { LoopError } from '../loop/errors.ts'
import { branchRef } from './address.ts'
import { git, runGit, type GitBounds } from './git.ts'

export interface WorkingTree {
  path: string
  /** Commit that it stands on; null for a bare repository. */
  head: string | null
  /** Branch that is checked out, without refs/heads/; null where none is. */
  branch: string | null
}

const HEADS = 'refs/heads/'

/** The repository's own working tree and those that were added to it. Errors: GitFailed. */
export const workingTrees = async (path: string, bounds: GitBounds = {}): Promise<WorkingTree[]> => {
  const text = (await git(['worktree', 'list', '--porcelain', '-z'], { ...bounds, cwd: path })).toString('utf8')
  return text.split('\0\0').flatMap((entry) => {
    const lines = entry.split('\0')
    const value = (key: string) => lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? null
    const [folder, ref] = [value('worktree'), value('branch')]
    return folder === null ? [] : [{ path: folder, head: value('HEAD'), branch: ref?.startsWith(HEADS) ? ref.slice(HEADS.length) : null }]
  })
}

/**
 * Refuses a name that the fixes could not be put under in the end. The branch reviewed is free as long as nobody works on it.
 * Errors: BadRequest for what is no name, BranchTaken, GitFailed.
 */
export const assertFree = async (path: string, name: string, reviewed: string | null, bounds: GitBounds = {}): Promise<void> => {
  const ref = branchRef(name)
  const here = { ...bounds, cwd: path }
  // git's own rules for what a person may make: no leading dash, no HEAD
  if ((await runGit(['check-ref-format', '--branch', name], here)).code !== 0)
    throw new LoopError('BadRequest', `${JSON.stringify(name)} is no name for a branch`)
  const taken = (why: string, remedy = 'Name another with `--branch`.') => new LoopError('BranchTaken', why, { target: name, remedy })

  const tree = (await workingTrees(path, bounds)).find(({ branch }) => branch === name)
  if (tree) throw taken(`${name} is checked out in ${tree.path}`)
  if (name === reviewed) return
  // whatever could stand in the way begins alike
  const [first = ''] = name.split('/')
  const refs = (await git(['for-each-ref', '--format=%(refname)', `${HEADS}${first}`], here)).toString('utf8').split('\n').filter(Boolean)
  if (refs.includes(ref)) throw taken(`branch ${name} exists in ${path}`, 'Name another with `--branch`, or delete it.')
  const inTheWay = refs.find((other) => other.startsWith(`${ref}/`) || ref.startsWith(`${other}/`))
  if (inTheWay) throw taken(`branch ${name} cannot be made in ${path}: ${inTheWay.slice(HEADS.length)} stands in the way`)
}
