/** State Prepare: fetches once, resolves the policy from the tip of the base branch, stores the snapshot. */
import { writeJson } from './artifact.ts'
import { fixedInHistory } from './branch.ts'
import { readCurrentRun } from './current-run.ts'
import { deployedPolicy } from './deployed-policy.ts'
import { repositoryOf } from './deployment.ts'
import type { BranchItem } from './items.ts'
import { loopPolicyOf } from './loop-policy.ts'
import { advance } from './next-step.ts'
import { noMistakesNotice, readNoMistakes } from './no-mistakes.ts'
import { SETTINGS_FILE } from './policy.ts'
import type { Invocation, Ports } from './ports.ts'
import type { RunRequest, RunState } from './run.ts'
import { branchKeyOf, repositoryScope } from './run-id.ts'
import { resolvePolicy } from './settings.ts'
import { readUpload } from './upload.ts'
import { sourceKey, storeSource } from './source.ts'
import type { BaseSettings, Changeset, ChangesetCommit, NightSpan } from './workspace.ts'

const spanOf = ({ night, publishTo }: RunRequest, branch: BranchItem | null): NightSpan | null =>
  night && publishTo !== null ? { ...night, target: publishTo, ours: branch?.published.map(({ commit }) => commit) ?? [] } : null

/**
 * The commit that a night's review stands on, and the fixes of earlier nights as a changeset. A commit other than the head that was
 * asked for is one that only a certifier clears: Publish, which knows no other head, asks for its certificate.
 */
const carriedOver = async (
  { artifacts }: Pick<Ports, 'artifacts'>,
  { runId, commit: asked }: RunState,
  { nonce, head, carried }: { nonce: string; head: string; carried: ChangesetCommit | null },
): Promise<Partial<RunState>> => {
  const commit = carried?.id ?? head
  const stands = { commit, fixed: commit !== asked }
  if (!carried) return stands
  const changeset = `changesets/prepare/${runId}/${nonce}`
  const content: Changeset = { head, commits: [carried] }
  await writeJson(artifacts, changeset, content)
  return { ...stands, changeset }
}

const settingsNotices = ({ settings, settingsFile, headSettingsDiffer }: BaseSettings & { headSettingsDiffer: boolean }): string[] => {
  const inUse = `${settingsFile ?? 'the file'} at the tip of the base branch${settings === null ? ', which has none' : ''}`
  return [
    ...(headSettingsDiffer ? [`The change alters the settings of reviews: this run goes by ${inUse}.`] : []),
    ...(settings !== null && settingsFile ? [noMistakesNotice(settings)] : []),
  ]
}

/** Errors: StaleExecution, BadSettings, and those of `Workspaces.fetch`. */
export const prepare = async (
  ports: Pick<Ports, 'runs' | 'artifacts' | 'workspaces' | 'effects' | 'announce' | 'deployment'>,
  state: RunState,
  invocation: Invocation,
): Promise<RunState> => {
  const { request, bundle } = await readCurrentRun(ports.runs, state)
  const policyOf = ({ settings, settingsFile }: BaseSettings) =>
    deployedPolicy(
      ports.deployment,
      request.repository,
      resolvePolicy({
        text: settings,
        file: `${settingsFile ?? SETTINGS_FILE} at ${request.base.slice(0, 12)}`,
        overrides: request.overrides,
        ...(settingsFile && { parse: (text, file) => readNoMistakes(text, file).settings }),
      }),
    )

  invocation.progress(`fetching ${request.head.slice(0, 12)}`)
  const branch = await ports.runs.branches.read(branchKeyOf(request.repository, request.branch ?? request.head))
  const span = spanOf(request, branch)
  const uploaded = await readUpload(ports, bundle)
  const { pack, history, messages, night, ...fetched } = await ports.workspaces.fetch(
    {
      repository: request.repository,
      branch: request.branch,
      base: request.base,
      head: request.head,
      bundle: uploaded,
      ...(span && { night: span }),
    },
    (settings) => policyOf(settings).limits,
    invocation.signal,
  )
  const policy = policyOf(fetched)

  // A retry stores a snapshot of its own: objects are immutable, and two packs of one commit need not be equal byte for byte.
  const nonce = ports.effects.nonce()
  const packKey = sourceKey(state.runId, nonce, 'pack')
  const source = sourceKey(state.runId, nonce, 'json')
  await ports.artifacts.put(packKey, pack)
  await storeSource(ports.artifacts, source, {
    info: { ...fetched, pack: packKey },
    policy,
    notices: [...(night?.notices ?? []), ...settingsNotices(fetched)],
    ...(night && { night: { tip: night.tip, carried: night.carried !== null } }),
    fixedBefore: fixedInHistory(branch, history),
    messages,
    declinedBefore: branch?.declined ?? [],
  })
  await ports.announce(state.runId, { begun: true })
  const budget = repositoryOf(ports.deployment, request.repository) ? { budget: repositoryScope(request.repository) } : {}
  const commits = night ? await carriedOver(ports, state, { nonce, head: fetched.head, carried: night.carried }) : {}
  return advance({ ...state, ...budget, ...commits, source, policy: loopPolicyOf(policy) }, { step: 'Prepare', empty: fetched.empty })
}
