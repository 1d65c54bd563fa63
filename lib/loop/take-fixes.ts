/** How a person takes fixes that were put on a branch: commands for a shell, which may be pasted as they are. */
import { printable } from './redact.ts'
import type { Report } from './report.ts'

/** For the shell: quoted where it has to be. */
export const shellWord = (text: string): string => (/^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** A branch in a refspec; by its full name where git could take the short one for something else. */
const named = (branch: string): string => (/^(-|(refs|heads|tags|remotes)\/)/.test(branch) ? `refs/heads/${branch}` : branch)

/** Arguments of the git that moves a branch forwards, whatever is checked out as long as it is not that one. `from`: a repository. */
export const moveBranch = (from: string, fixes: string, branch: string): string =>
  `fetch ${shellWord(from)} ${shellWord(`${named(fixes)}:${named(branch)}`)}`

/**
 * Lines of one command that bring the fixes to the branch that was reviewed. Which branch is checked out is not known here, and no
 * other may be moved: they go to it first, and stop where that fails. None where no branch holds fixes, or the reviewed one does already.
 */
export const takeFixes = ({ request: { repository, branch }, fixes }: Pick<Report, 'request' | 'fixes'>): string[] =>
  fixes?.branch && fixes.branch !== branch
    ? commandsFor(repository, branch, fixes.branch).map((command, index, { length }) =>
        printable(index < length - 1 ? `${command} &&` : command),
      )
    : []

const commandsFor = (repository: string, branch: string | null, fixes: string): string[] => {
  const isRemote = /^https?:\/\//i.test(repository)
  const from = isRemote ? repository : '.'
  if (branch === null)
    return isRemote
      ? [`git fetch ${shellWord(from)} ${shellWord(fixes)}`, 'git switch --detach FETCH_HEAD']
      : [`git switch ${shellWord(fixes)}`]
  // such a name is an option to every command that would go to it
  if (branch.startsWith('-')) return [`git ${moveBranch(from, fixes, branch)}`]
  const forward = isRemote ? `git pull --ff-only ${shellWord(from)}` : 'git merge --ff-only'
  return [`git switch ${shellWord(branch)}`, `${forward} ${shellWord(fixes)}`]
}
