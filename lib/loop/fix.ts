/** State Fix: one turn of the fixer, over the findings it is given and only these. Its edits become one commit. */
import { turnObjectKey } from '../names.ts'
import type { FixTask } from './agent.ts'
import { readJson, writeJson } from './artifact.ts'
import { isToBeResumed } from './attachment.ts'
import { patchKey } from './close.ts'
import { commitMessage } from './commit-message.ts'
import { type Decision, decision as decisionSchema } from './decision.ts'
import { LoopError } from './errors.ts'
import { checkFindings } from './findings.ts'
import { applyDecision, applyFix, counts, toFix } from './ledger.ts'
import { advance } from './next-step.ts'
import { type FixOutput, fixOutput } from './output.ts'
import type { Invocation } from './ports.ts'
import type { FixCommit, RunRecord } from './record.ts'
import type { TurnPorts } from './review.ts'
import type { RunState } from './run.ts'
import { storeRecord } from './run-record.ts'
import { RunSessions } from './sessions.ts'
import { closing } from './turn-closing.ts'
import { agentTurn, findingContext, onScene, type Scene } from './turn-scene.ts'
import { type Claimed, takeTurn, type Worked } from './turns.ts'
import type { Changeset } from './workspace.ts'

const ROLE = 'fixer' as const

/** Errors: those of `takeTurn` and of the workspace. */
export const fix = (ports: TurnPorts, state: RunState, invocation: Invocation): Promise<RunState> =>
  takeTurn(ports, {
    role: ROLE,
    state,
    invocation,
    work: (claimed) =>
      onScene(ports, claimed.input, { editable: true, work: workOf(claimed) }, invocation, (scene) =>
        fixOn(ports, claimed, scene, invocation),
      ),
  })

/** The uncommitted work of the turn that this one continues. */
const workOf = ({ input, item, turn }: Claimed): string | null =>
  input.continuations > 0 && item.checkpoint?.turn === turn - 1 ? item.checkpoint.work : null

const fixOn = async (ports: TurnPorts, claimed: Claimed, scene: Scene, invocation: Invocation): Promise<Worked> => {
  const { input, turn, fence } = claimed
  const { policy } = scene
  const startedAt = ports.effects.now()
  const { record, decision } = await begin(ports, claimed, scene)
  const given = record.findings.filter((finding) => record.given.includes(finding.id))
  const agents = await ports.agents.find(policy.agent?.fixer ?? ports.defaultAgents)
  const task: FixTask = { kind: 'fix', diff: scene.diff, policy, handOver: null, findings: given, notes: notesOf(decision) }
  const request = { ...agentTurn(claimed, { ...scene, record }, invocation, startedAt), schema: fixOutput, task }
  const served = await new RunSessions(ports, { runId: input.runId, policy }).run(ROLE, agents, request)
  const close = closing(ports, claimed, scene, served, startedAt)
  const { ended, limit, spent } = close
  const output: FixOutput = served.kind === 'done' ? served.output : { results: [], summary: '' }

  // A turn that stopped at a limit commits as well: nothing that an agent made is lost, and such a run is never approved.
  const made = ended === 'checkpoint' ? null : await commit(ports, claimed, scene, { given, output })
  const after =
    ended === 'checkpoint'
      ? record
      : applyFix(record, { turn, round: input.round, given: record.given, results: output.results, commit: made?.commit ?? null })
  const open = counts(policy, after)
  const turnRecord = close.record({
    raised: 0,
    fixed: output.results.filter((result) => result.status === 'fixed').length,
    open: open.autoFix + open.other,
    commit: made?.commit.id ?? input.commit,
    summary: output.summary,
  })
  const key = await storeRecord(ports, { role: ROLE, runId: input.runId, turn, fence }, { ...after, turns: [...after.turns, turnRecord] })
  const moved = made ? { commit: made.commit.id, changeset: made.key, fixed: true } : {}
  const next = advance(
    { ...input, ...moved, turn, record: key, spent, decision: ended === 'checkpoint' ? input.decision : null },
    { step: 'Fix', ended, commits: made ? 1 : 0, limit },
  )
  const checkpoint =
    ended === 'checkpoint' && served.checkpoint ? { ...served.checkpoint, work: await saveWork(ports, claimed, scene) } : null
  return {
    state: next,
    record: turnRecord,
    session: served.session,
    checkpoint,
    toBeResumed: isToBeResumed(ROLE, policy, claimed.item, input.round),
  }
}

/** The record as the cycle begins: a decision is entered once, and `given` says what this cycle is to fix. */
const begin = async (
  ports: TurnPorts,
  { input, turn }: Claimed,
  scene: Scene,
): Promise<{ record: RunRecord; decision: Decision | null }> => {
  const { record, policy } = scene
  const decision = input.decision ? await readJson(ports.artifacts, input.decision, decisionSchema) : null
  if (input.continuations > 0) return { record, decision }
  if (!decision) return { record: { ...record, given: toFix(policy, record).map((finding) => finding.id) }, decision }
  const drafts = decision.answer.kind === 'fix' ? decision.answer.add : []
  const { findings, refused } = checkFindings(drafts, await findingContext(scene, drafts))
  if (refused[0]) throw new LoopError('BadDecision', `The added finding at ${refused[0].draft.file} was refused: ${refused[0].reason}.`)
  return { record: applyDecision(record, decision, { turn, round: input.round, addedFindings: findings }), decision }
}

const notesOf = (decision: Decision | null): Record<string, string> => {
  if (decision?.answer.kind !== 'fix') return {}
  return { ...decision.answer.notes, ...(decision.answer.note ? { '': decision.answer.note } : {}) }
}

const saveWork = async (ports: TurnPorts, { input, turn, fence }: Claimed, { workspace }: Scene): Promise<string | null> => {
  const work = await workspace.saveWork()
  if (!work) return null
  const key = turnObjectKey('work', ROLE, input.runId, turn, fence)
  await writeJson(ports.artifacts, key, work)
  return key
}

/** Commits what the turn changed, and stores the changeset with the patch beside it; null where nothing was changed. */
const commit = async (
  ports: TurnPorts,
  { input, turn, fence }: Claimed,
  { workspace, policy, changeset, source }: Scene,
  work: { given: RunRecord['findings']; output: FixOutput },
): Promise<{ commit: FixCommit; key: string } | null> => {
  const { given, output } = work
  const notFixed = new Set(output.results.filter((result) => result.status === 'not-fixed').map((result) => result.id))
  const fixed = given.filter((finding) => !notFixed.has(finding.id))
  const message = commitMessage(policy.commit_message, { summary: output.summary, round: input.round, run: input.runId, findings: fixed })
  const made = await workspace.commitAll(message, source.info.headTime + turn)
  if (!made) return null
  const next: Changeset = { head: source.info.head, commits: [...(changeset?.commits ?? []), made] }
  const key = turnObjectKey('changesets', ROLE, input.runId, turn, fence)
  await writeJson(ports.artifacts, key, next)
  await ports.artifacts.put(patchKey(key), new TextEncoder().encode(await workspace.patch()))
  const files = made.changes.map((change) => change.path)
  const named = new Set(given.map((finding) => finding.file))
  const outside = files.filter((file) => !named.has(file))
  return { key, commit: { id: made.id, turn, round: input.round, message, files, outside, findings: fixed.map((finding) => finding.id) } }
}
