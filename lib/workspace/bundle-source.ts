/** A git bundle as source: a pack behind a list of names. Only the pack is believed, since objects are named by what they hold. */
import { LoopError } from '../loop/errors.ts'
import { complaint, runGit, type GitBounds } from './git.ts'
import { findMergeBase, hasCommit } from './merge-base.ts'

/** Bytes of the list before the pack. */
const MOST_HEADER = 4 * 1024 * 1024

const refuse = (why: string): never => {
  throw new LoopError('BundleRefused', `The bundle ${why}.`)
}

/** Where the pack begins. Errors: BundleRefused for what is no bundle, needs a repository besides, or leaves objects out. */
const packIn = (bundle: Uint8Array): Uint8Array => {
  const header = Buffer.from(bundle.buffer, bundle.byteOffset, Math.min(bundle.length, MOST_HEADER))
  const end = header.indexOf('\n\n')
  const [signature = '', ...lines] = end < 0 ? [] : header.toString('utf8', 0, end).split('\n')
  if (!/^# v[23] git bundle$/.test(signature)) return refuse('is none')
  for (const line of lines) {
    if (line.startsWith('-')) return refuse('needs commits that it does not hold: make it without excluding any')
    if (line.startsWith('@') && line !== '@object-format=sha1') return refuse(`has the capability ${JSON.stringify(line.slice(1, 60))}`)
  }
  return bundle.subarray(end + 2)
}

/**
 * Unpacks the bundle into the empty repository at `gitDir` and gives the merge base. Whatever names its list gives commits, base and head
 * are the ones that were asked for, with all their history. Errors: BundleRefused, NoCommit, BaseUnreachable, GitTimedOut.
 */
export const unbundle = async (
  gitDir: string,
  bundle: Uint8Array,
  { base, head }: { base: string; head: string },
  bounds: GitBounds,
): Promise<string> => {
  const options = { ...bounds, env: { GIT_DIR: gitDir } }
  const indexed = await runGit(['index-pack', '--stdin'], { ...options, input: packIn(bundle) })
  if (indexed.code !== 0) refuse(`is damaged: ${complaint(indexed.stderr)}`)
  for (const commit of [base, head])
    if (!(await hasCommit(gitDir, commit, bounds))) throw new LoopError('NoCommit', `the bundle has no commit ${commit}`, { commit })
  const whole = await runGit(['rev-list', '--objects', '--quiet', base, head], options)
  if (whole.code !== 0) refuse('lacks history or files of base or head: make it from a full clone')
  const found = await findMergeBase(gitDir, base, head, bounds)
  if (found.kind === 'found') return found.commit
  throw new LoopError('BaseUnreachable', 'base and head of the bundle have no history in common', { base, head })
}
