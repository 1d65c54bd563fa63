/** Fetches what a night is planned on: the branch that holds the fixes of earlier nights, and enough history of both. */
import type { Policy } from '../loop/policy.ts'
import type { FetchedNight, NightSpan } from '../loop/workspace.ts'
import { branchRef } from './address.ts'
import { boundsOf, runGit } from './git.ts'
import { hasNight, planNight } from './night.ts'
import { deepenRemote, type Remote, remoteTip } from './remote-source.ts'
import type { SnapshotRepository } from './snapshot-repository.ts'

type Place = { kind: 'path'; path: string } | ({ kind: 'url' } & Remote)

interface Part {
  mergeBase: string
  head: string
  night?: FetchedNight
}

const tipOf = async (place: Place, ref: string, { options }: SnapshotRepository): Promise<string | null> => {
  const bounds = boundsOf(options)
  if (place.kind === 'url') return remoteTip(place, ref, bounds)
  const result = await runGit(['rev-parse', '--verify', '--quiet', '--end-of-options', ref], { ...bounds, cwd: place.path })
  return result.code === 0 ? result.stdout.toString().trim() : null
}

/**
 * What is reviewed of a source: all of it, or a night's part where one is asked for. `depth`: commits fetched so far.
 * Errors: NightBranchMoved, FetchFailed, FetchRefused, ChangeTooLarge.
 */
export const fetchNight = async (
  repository: SnapshotRepository,
  place: Place,
  { head, base, night: span }: { head: string; base: string; night?: NightSpan },
  { mergeBase, limits, depth }: { mergeBase: string; limits: Policy['limits']; depth: number },
): Promise<Part> => {
  if (!span) return { mergeBase, head }
  const tip = await tipOf(place, branchRef(span.target), repository)
  const isEnough = () => hasNight(repository, { span, head, tip })
  if (place.kind === 'url' && !(await isEnough()))
    await deepenRemote(
      repository.gitDir,
      place,
      { commits: [head, base, ...(tip === null ? [] : [tip])], depth, limits },
      isEnough,
      boundsOf(repository.options),
    )
  const plan = await planNight(repository, { span, head, mergeBase, tip }, limits)
  const { tip: found, carried, left, notices } = plan
  return { mergeBase: plan.mergeBase, head: plan.head, night: { tip: found, carried, left, notices } }
}
