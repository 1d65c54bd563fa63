/** Prepare's part: fetch once, within limits, and give the snapshot that every turn starts from. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import { NO_MISTAKES_FILE, SETTINGS_FILE, type Policy } from '../loop/policy.ts'
import type { BaseSettings, FetchedSource, NightSpan } from '../loop/workspace.ts'
import { branchRef, parseAddress, tokenFor, type TokenSource } from './address.ts'
import { changedFiles } from './diff-read.ts'
import { complaint, git, runGit, type GitOptions } from './git.ts'
import { unbundle } from './bundle-source.ts'
import { historyOf, messagesOf } from './history.ts'
import { borrowLocal, initRepository } from './local-source.ts'
import { fetchNight } from './night-fetch.ts'
import { timeOf } from './night.ts'
import { fetchRemote } from './remote-source.ts'

const COMMIT = /^[0-9a-f]{40}$/
const SETTINGS_BYTES = 256 * 1024
const LISTING_BYTES = 512 * 1024 * 1024

export interface Source {
  repository: string
  branch: string | null
  base: string
  head: string
  bundle?: Uint8Array | null
  night?: NightSpan
}

const tooLarge = (limit: string, allowed: number, what: string): LoopError =>
  new LoopError('ChangeTooLarge', `${what} is over ${limit} (${allowed})`, { limit, allowed })

interface Entry {
  mode: string
  id: string
}

const entryAt = async (commit: string, path: string, options: GitOptions): Promise<Entry | null> => {
  const line = (await git(['ls-tree', '-z', commit, '--', path], options)).toString('utf8')
  const [mode, , id] = line.split(/[ \t]/)
  return mode && id ? { mode, id } : null
}

const textAt = async (base: string, file: string, options: GitOptions): Promise<string | null> => {
  const entry = await entryAt(base, file, options)
  if (!entry) return null
  if (!entry.mode.startsWith('100')) throw new LoopError('BadSettings', `${file} of the base is no regular file`)
  const size = Number(await git(['cat-file', '-s', entry.id], options))
  if (size > SETTINGS_BYTES) throw new LoopError('BadSettings', `${file} of the base is over ${SETTINGS_BYTES} bytes`)
  return (await git(['cat-file', 'blob', entry.id], options)).toString('utf8')
}

const settingsOf = async (base: string, options: GitOptions): Promise<BaseSettings> => {
  const settings = await textAt(base, SETTINGS_FILE, options)
  if (settings !== null) return { settings }
  const theirs = await textAt(base, NO_MISTAKES_FILE, options)
  return theirs === null ? { settings: null } : { settings: theirs, settingsFile: NO_MISTAKES_FILE }
}

/** Whether the head has settings that would be others: a file of ours, or of theirs where the base has none of ours. */
const headSettingsDiffer = async (base: string, head: string, options: GitOptions): Promise<boolean> => {
  for (const file of [SETTINGS_FILE, NO_MISTAKES_FILE]) {
    const [ours, theirs] = [await entryAt(base, file, options), await entryAt(head, file, options)]
    if (theirs !== null && theirs.id !== ours?.id) return true
    if (ours !== null) return false
  }
  return false
}

/** What a file system takes: bytes of a path, and of each name in it. */
const LONGEST_PATH = 4095
const LONGEST_NAME = 255
/** Each file and folder costs at least a block, so that a tree of empty ones is bounded too. */
const BLOCK = 512

/**
 * A small pack can unfold into a tree that fills any disk, or that nothing gets to the end of: each commit is measured before it is
 * walked or checked out. Of the merge base, which is only compared with, files and folders are counted.
 */
const checkUnfolded = async (commit: string, checkedOut: boolean, limits: Policy['limits'], options: GitOptions): Promise<void> => {
  const what = checkedOut ? 'the checked-out commit' : 'the merge base'
  const over = tooLarge('limits.bytes', limits.bytes, what)
  const tooLong = new LoopError('ChangeTooLarge', `${what} holds a path that is longer than a file system takes`)
  let bytes = 0
  let rest = ''
  const onStdout = (chunk: Buffer): void => {
    const records = (rest + chunk.toString('latin1')).split('\0')
    rest = records.pop() ?? ''
    for (const record of records) {
      const [facts = '', ...path] = record.split('\t')
      bytes += BLOCK + (checkedOut ? Number(facts.split(/ +/)[3]) || 0 : 0)
      if (isTooLong(path.join('\t'))) throw tooLong
    }
    if (rest.length > LONGEST_PATH + BLOCK) throw tooLong
    if (bytes > limits.bytes) throw over
  }
  const result = await runGit(['ls-tree', '-r', '-t', '-z', ...(checkedOut ? ['-l'] : []), commit], { ...options, onStdout })
  // Folders in folders without end are more than git's stack holds.
  if (result.code < 0) throw tooLong
  if (result.code !== 0) throw new LoopError('FetchFailed', `${what} is incomplete in the repository`)
}

const isTooLong = (path: string): boolean => path.length > LONGEST_PATH || path.split('/').some((name) => name.length > LONGEST_NAME)

/** A commit that git itself refuses to check out, for a path in `.git` in whatever spelling, is refused before anything is made of it. */
const checkNames = async (head: string, options: GitOptions): Promise<void> => {
  const result = await runGit(['read-tree', head], options)
  if (result.code === 0) return
  const name = /invalid path '(.*)'/.exec(result.stderr)?.[1]
  if (name === undefined) throw new LoopError('FetchFailed', `the head commit cannot be checked out: ${complaint(result.stderr)}`)
  throw new LoopError(
    'OutsideWorkspace',
    `the head commit holds a path that git refuses to check out: ${JSON.stringify(name.slice(0, 200))}`,
  )
}

/** Merge base and head with all their trees and files, and no other history. */
const packOf = async (commits: string[], limits: Policy['limits'], options: GitOptions): Promise<Uint8Array> => {
  const over = `the snapshot is over limits.bytes (${limits.bytes})`
  const listed = await runGit(['rev-list', '--objects', '--no-walk', ...commits], { ...options, maxBytes: LISTING_BYTES, tooLarge: over })
  if (listed.code !== 0) throw new LoopError('FetchFailed', 'the repository lacks objects of the change: is it a partial clone?')
  // Deltas that are there are taken over, none is sought: with 11,000 loose files that was 14 s for 3 % of the size.
  const args = ['pack-objects', '--quiet', '--stdout', '--delta-base-offset', '--window=0']
  return git(args, { ...options, input: listed.stdout, maxBytes: limits.bytes, tooLarge: over })
}

/**
 * Fetches a source and gives the snapshot; the throwaway repository is gone when it returns. `limitsOf` gives the limits by the
 * base's settings. Errors: as `Workspaces.fetch`, BadRequest, NotARepository, and what `limitsOf` throws.
 */
export const fetchSnapshot = async (
  source: Source,
  limitsOf: (settings: BaseSettings) => Policy['limits'],
  token: TokenSource,
  signal: AbortSignal,
  folder: string = tmpdir(),
): Promise<FetchedSource> => {
  const address = parseAddress(source.repository)
  if (source.branch !== null) branchRef(source.branch)
  for (const id of [source.base, source.head])
    if (!COMMIT.test(id)) throw new LoopError('BadRequest', `${JSON.stringify(id)} is no commit id`)
  const gitDir = await mkdtemp(join(folder, 'reviewloop-fetch-'))
  try {
    const bounds = { signal }
    const options = { ...bounds, env: { GIT_DIR: gitDir } }
    const readLimits = async (): Promise<Policy['limits']> => limitsOf(await settingsOf(source.base, options))
    await initRepository(gitDir, bounds)
    const { bundle } = source
    // A bundle is unpacked in the place of what it would be fetched from.
    const here = { kind: 'path' as const, path: gitDir }
    const from = async () =>
      address.kind === 'path' ? address : { kind: 'url' as const, url: address.url, token: await tokenFor(address.url, token) }
    const place = bundle ? here : await from()
    const local = (path: string) => (bundle ? unbundle(path, bundle, source, bounds) : borrowLocal(gitDir, path, source, bounds))
    const whole =
      place.kind === 'path'
        ? { mergeBase: await local(place.path), limits: await readLimits(), depth: 0 }
        : await fetchRemote(gitDir, place, source, readLimits, bounds)
    const { limits } = whole
    if (bundle && bundle.length > limits.bytes) throw tooLarge('limits.bytes', limits.bytes, 'the bundle')
    const { mergeBase, head, night } = await fetchNight({ gitDir, options }, place, source, whole)
    for (const commit of new Set([head, mergeBase])) await checkUnfolded(commit, commit === head, limits, options)
    await checkNames(head, options)
    const changes = await changedFiles(mergeBase, night?.carried?.id ?? head, options)
    if (changes.length > limits.files) throw tooLarge('limits.files', limits.files, `the change of ${changes.length} files`)
    return {
      mergeBase,
      head,
      base: source.base,
      ...(await settingsOf(source.base, options)),
      headSettingsDiffer: !source.night?.isDefault && (await headSettingsDiffer(source.base, head, options)),
      files: changes.length,
      empty: changes.length === 0,
      headTime: await timeOf(head, options),
      history: await historyOf(mergeBase, head, options),
      messages: await messagesOf(mergeBase, head, options),
      pack: await packOf([...new Set([mergeBase, head])], limits, options),
      ...(night && { night }),
    }
  } finally {
    await rm(gitDir, { recursive: true, force: true })
  }
}
