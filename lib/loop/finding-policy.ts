/** What the policy says of findings and files: what blocks, what is ignored, what becomes of files that nobody looked at. */
import picomatch from 'picomatch'
import type { Finding, TrackedFinding } from './finding.ts'
import { cleanText, findingIds, MOST_TEXT } from './findings.ts'
import type { SkippedFile } from './output.ts'
import type { Policy } from './policy.ts'

/** Rule of the findings that stand for what nobody looked at. */
export const NOT_REVIEWED = 'not-reviewed'

/**
 * A missing look is never clean: a finding for each file that was skipped, unless the policy ignores it. The files are the diff's, so
 * their names are not an agent's to get wrong: none is refused, whatever it is called.
 */
export const notReviewed = (skipped: readonly SkippedFile[], policy: Pick<Policy, 'ignore' | 'unread'>): Finding[] => {
  const files = skipped.filter(({ file }) => !isIgnored(policy, file))
  const ids = findingIds(
    files.map(({ file }) => ({ file, rule: NOT_REVIEWED })),
    () => null,
  )
  return files.map(({ file, reason }, index) => ({
    id: ids[index] ?? '',
    rule: NOT_REVIEWED,
    ...(policy.unread === 'block'
      ? ({ severity: 'warning', action: 'ask-user' } as const)
      : ({ severity: 'info', action: 'no-op' } as const)),
    file,
    text: cleanText(`Not reviewed: ${reason}`, MOST_TEXT),
    inDiff: false,
  }))
}

const matchers = new WeakMap<readonly string[], (path: string) => boolean>()

/** Whether the policy's `ignore` matches the path. Globs see dot files; a pattern that ends in a slash means all below the folder. */
export const isIgnored = ({ ignore }: Pick<Policy, 'ignore'>, path: string): boolean => {
  const known = matchers.get(ignore)
  const matches =
    known ??
    picomatch(
      ignore.map((glob) => (glob.endsWith('/') ? `${glob}**` : glob)),
      { dot: true },
    )
  if (!known) matchers.set(ignore, matches)
  return matches(path)
}

/** Whether a finding stands in the way of approval: open, and of a severity that blocks or for a person to decide. */
export const isBlocking = ({ block_on }: Pick<Policy, 'block_on'>, finding: Finding | TrackedFinding): boolean =>
  (!('status' in finding) || finding.status === 'open') && (block_on.includes(finding.severity) || finding.action === 'ask-user')
