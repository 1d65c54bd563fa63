/** State Prepare: fetches once, resolves the policy from the tip of the base branch, stores the snapshot. */
import { fixedInHistory } from './branch.ts'
import { readCurrentRun } from './current-run.ts'
import { deployedPolicy } from './deployed-policy.ts'
import { repositoryOf } from './deployment.ts'
import { loopPolicyOf } from './loop-policy.ts'
import { advance } from './next-step.ts'
import { SETTINGS_FILE } from './policy.ts'
import type { Invocation, Ports } from './ports.ts'
import type { RunState } from './run.ts'
import { branchKeyOf, repositoryScope } from './run-id.ts'
import { resolvePolicy } from './settings.ts'
import { sourceKey, storeSource } from './source.ts'

/** Errors: StaleExecution, BadSettings, and those of `Workspaces.fetch`. */
export const prepare = async (
  ports: Pick<Ports, 'runs' | 'artifacts' | 'workspaces' | 'effects' | 'announce' | 'deployment'>,
  state: RunState,
  invocation: Invocation,
): Promise<RunState> => {
  const { request } = await readCurrentRun(ports.runs, state)
  const policyOf = (text: string | null) =>
    deployedPolicy(
      ports.deployment,
      request.repository,
      resolvePolicy({ text, file: `${SETTINGS_FILE} at ${request.base.slice(0, 12)}`, overrides: request.overrides }),
    )

  invocation.progress(`fetching ${request.head.slice(0, 12)}`)
  const { pack, history, messages, ...fetched } = await ports.workspaces.fetch(
    { repository: request.repository, branch: request.branch, base: request.base, head: request.head },
    (text) => policyOf(text).limits,
    invocation.signal,
  )
  const policy = policyOf(fetched.settings)
  const branch = await ports.runs.branches.read(branchKeyOf(request.repository, request.branch ?? request.head))

  // A retry stores a snapshot of its own: objects are immutable, and two packs of one commit need not be equal byte for byte.
  const nonce = ports.effects.nonce()
  const packKey = sourceKey(state.runId, nonce, 'pack')
  const source = sourceKey(state.runId, nonce, 'json')
  await ports.artifacts.put(packKey, pack)
  await storeSource(ports.artifacts, source, {
    info: { ...fetched, pack: packKey },
    policy,
    notices: fetched.headSettingsDiffer
      ? [
          `The change alters ${SETTINGS_FILE}: this run goes by the file at the tip of the base branch${fetched.settings === null ? ', which has none' : ''}.`,
        ]
      : [],
    fixedBefore: fixedInHistory(branch, history),
    messages,
    declinedBefore: branch?.declined ?? [],
  })
  await ports.announce(state.runId, { begun: true })
  const budget = repositoryOf(ports.deployment, request.repository) ? { budget: repositoryScope(request.repository) } : {}
  return advance({ ...state, ...budget, source, policy: loopPolicyOf(policy) }, { step: 'Prepare', empty: fetched.empty })
}
