/** What to type to take the fixes: never what would move another branch than the one that was reviewed. */
import type { RunItem } from '../../lib/loop/items.ts'
import { moveBranch, shellWord } from '../../lib/loop/take-fixes.ts'
import { workingTrees, type WorkingTree } from '../../lib/workspace/local-branch.ts'

const gitIn = (folder: string): string => (folder === process.cwd() ? 'git' : `git -C ${shellWord(folder)}`)

/** The working tree that stands on what was reviewed. */
const treeOf = (trees: readonly WorkingTree[], { repository, branch, head }: RunItem['request']): WorkingTree | undefined =>
  trees.find((tree) => (branch === null ? tree.path === repository && tree.branch === null && tree.head === head : tree.branch === branch))

/** Words for `Take the fixes:`, of the branch or else of the patch; null where there is neither, or nothing to apply it to. */
export const howToTake = async ({ request }: RunItem, fixes: string | null, patch: string | null): Promise<string | null> => {
  const { repository, branch, head } = request
  // the repository may be gone by the time that a run is looked at
  const trees = await workingTrees(repository).catch((): WorkingTree[] => [])
  const tree = treeOf(trees, request)
  if (fixes !== null) {
    if (fixes === branch) return `they are on ${fixes}`
    if (tree) return `${gitIn(tree.path)} merge --ff-only ${shellWord(fixes)}`
    return branch === null ? `they are on the branch ${fixes}` : `${gitIn(repository)} ${moveBranch('.', fixes, branch)}`
  }
  if (patch === null) return null
  const apply = (folder: string) => `${gitIn(folder)} apply ${shellWord(patch)}`
  if (tree) return apply(tree.path)
  if (!trees.some(({ path, head: at }) => path === repository && at !== null)) return null
  const there = branch === null || branch.startsWith('-') ? `--detach ${head}` : shellWord(branch)
  return `${gitIn(repository)} switch ${there} && ${apply(repository)}`
}
