/** One repository with one branch under review: what is pushed where, under the rules that publishing has. */
import type { Forge as ForgePort } from '../../../lib/loop/ports.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

export const BRANCH = 'feature'

export class Forge {
  /** Tips by branch. */
  readonly tips = new Map<string, string>()
  /** The commit below a commit that we pushed. */
  readonly #below = new Map<string, string>()
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Whether the history of `tip` holds `commit`. */
  holds(tip: string, commit: string): boolean {
    for (let at: string | undefined = tip; at; at = this.#below.get(at)) if (at === commit) return true
    return false
  }

  of(worker: Worker): ForgePort {
    const { scheduler, system, monitor } = this.#world
    const look = (branch: string): Promise<string | null> =>
      scheduler.effect(worker, {
        what: `look at ${branch}`,
        writes: false,
        perform: () => this.tips.get(branch) ?? null,
        lost: () => new system.LoopError('FetchFailed', 'no answer'),
      })
    return {
      branchHead: (_repository, branch) => look(branch),
      publish: async (request) => {
        const { branch, target, head, commit, changeset } = request
        for (let attempt = 1; attempt <= 3; attempt++) {
          const sourceTip = branch === null ? null : await look(branch)
          if (branch !== null && sourceTip === null) throw new system.LoopError('BranchGone', `branch ${branch} is gone`)
          const tip = target === branch ? sourceTip : await look(target)
          if (tip !== null && (tip === commit || (tip !== head && this.holds(tip, commit)))) return 'already'
          if (branch !== null && sourceTip !== head) throw new system.LoopError('HeadMoved', `branch ${branch} moved`)
          if (target !== branch && tip !== null) throw new system.LoopError('BranchTaken', `branch ${target} exists`)
          const took = await scheduler.effect(worker, {
            what: `push ${commit.slice(0, 7)} to ${target}`,
            writes: true,
            perform: () => {
              if ((this.tips.get(target) ?? null) !== tip) return false
              monitor.pushed(worker, request)
              this.tips.set(target, commit)
              for (const [at, { id }] of changeset.commits.entries()) this.#below.set(id, changeset.commits[at - 1]?.id ?? head)
              return true
            },
            lost: () => new system.LoopError('PushFailed', 'no answer'),
          })
          if (took) return 'published'
        }
        throw new system.LoopError('PushFailed', `branch ${target} moves again and again`)
      },
    }
  }
}
