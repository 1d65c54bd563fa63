/** States Review and Certify: one look at the change. A certifier is a reviewer without a session. */
import type * as z from 'zod'
import type { ReviewTask } from './agent.ts'
import { isToBeResumed } from './attachment.ts'
import { markDeclined, withContent } from './declined.ts'
import { NOT_REVIEWED, notReviewed } from './finding-policy.ts'
import { checkFindings, normalisePath } from './findings.ts'
import { declinedOf } from './hand-over.ts'
import { applyReview, counts, markReturned } from './ledger.ts'
import { advance } from './next-step.ts'
import { type ReviewOutput, reviewOutput, type SkippedFile } from './output.ts'
import type { Invocation, Ports } from './ports.ts'
import type { RunRecord } from './record.ts'
import { oneLine, printable, redact } from './redact.ts'
import type { RunState } from './run.ts'
import { storeRecord } from './run-record.ts'
import { RunSessions, runWithoutSession } from './sessions.ts'
import { closing } from './turn-closing.ts'
import { agentTurn, findingContext, onScene, type Scene } from './turn-scene.ts'
import { type Claimed, takeTurn, type Worked } from './turns.ts'

export type TurnPorts = Pick<Ports, 'sessions' | 'runs' | 'artifacts' | 'workspaces' | 'agents' | 'effects' | 'defaultAgents'>

type Looker = 'reviewer' | 'certifier'

/** One turn of the reviewer. Errors: those of `takeTurn` and of the workspace. */
export const review = (ports: TurnPorts, state: RunState, invocation: Invocation): Promise<RunState> =>
  look(ports, 'reviewer', state, invocation)

/** One turn of the certifier. Errors: as `review`. */
export const certify = (ports: TurnPorts, state: RunState, invocation: Invocation): Promise<RunState> =>
  look(ports, 'certifier', state, invocation)

const look = (ports: TurnPorts, role: Looker, state: RunState, invocation: Invocation): Promise<RunState> =>
  takeTurn(ports, {
    role,
    state,
    invocation,
    work: (claimed) =>
      onScene(ports, claimed.input, { editable: false, work: null }, invocation, (scene) =>
        lookAt(ports, role, claimed, scene, invocation),
      ),
  })

const lookAt = async (ports: TurnPorts, role: Looker, claimed: Claimed, scene: Scene, invocation: Invocation): Promise<Worked> => {
  const { input, turn, fence } = claimed
  const { policy, record } = scene
  const startedAt = ports.effects.now()
  const agents = await ports.agents.find(policy.agent?.[role] ?? ports.defaultAgents)
  const request = { ...agentTurn(claimed, scene, invocation, startedAt), schema: await checkedOutput(scene), task: reviewTask(role, scene) }
  const served =
    role === 'reviewer'
      ? await new RunSessions(ports, { runId: input.runId, policy }).run(role, agents, request)
      : await runWithoutSession(ports, agents, request)
  const close = closing(ports, claimed, scene, served, startedAt)
  const { ended, limit, spent } = close
  const after = served.kind === 'done' ? await accept(role, claimed, scene, served.output) : record
  const open = counts(policy, after)
  const clean = ended === 'done' && open.autoFix + open.other + open.stuck === 0
  const turnRecord = close.record({
    raised: after.findings.length - record.findings.length,
    fixed: countFixed(record, after),
    open: open.autoFix + open.other,
    commit: input.commit,
    summary: served.kind === 'done' ? served.output.summary : '',
  })
  const certificate = { commit: input.commit, turn, agent: served.agent, agentVersion: served.agentVersion, at: turnRecord.endedAt }
  const finished: RunRecord = {
    ...after,
    turns: [...after.turns, turnRecord],
    certificates: role === 'certifier' && clean ? [...after.certificates, certificate] : after.certificates,
  }
  const key = await storeRecord(ports, { role, runId: input.runId, turn, fence }, finished)
  const certified = role === 'certifier' && clean ? input.commit : input.certified
  const next = advance(
    { ...input, turn, record: key, spent, certified },
    { step: role === 'reviewer' ? 'Review' : 'Certify', ended, open, limit },
  )
  const toBeResumed = isToBeResumed(role, policy, claimed.item, input.round)
  return { state: next, record: turnRecord, session: served.session, checkpoint: served.checkpoint, toBeResumed }
}

/** Findings that this look found fixed. One that it opened again is no fix less. */
const countFixed = (before: RunRecord, after: RunRecord): number => {
  const known = new Set(before.findings.flatMap(({ id, status }) => (status === 'fixed' ? [id] : [])))
  return after.findings.filter(({ id, status }) => status === 'fixed' && !known.has(id)).length
}

const reviewTask = (role: Looker, { policy, record, diff, source }: Scene): ReviewTask => {
  const looked = record.turns.some((turn) => turn.role === 'reviewer' && turn.ended !== 'checkpoint')
  const kind = role === 'certifier' ? 'certify' : looked ? 're-review' : 'review'
  const outstanding =
    kind === 're-review' ? record.findings.filter((finding) => finding.status === 'open' && finding.rule !== NOT_REVIEWED) : []
  // A person may have declined since the session's last turn, so that it is told each time. A certifier reads the change as if it were new.
  const declined = kind === 'certify' ? [] : declinedOf(record.findings, source.declinedBefore)
  return { kind, diff, policy, messages: source.messages, outstanding, declined, handOver: null }
}

/**
 * A blocking finding whose place has to be refused is no finding less: the answer as a whole does not fit, so that the agent is asked
 * to repair it, once.
 */
const checkedOutput = async (scene: Scene): Promise<z.ZodType<ReviewOutput>> => {
  const places = { ...(await findingContext(scene, [])), lineText: () => null }
  return reviewOutput.superRefine(({ findings }, context) => {
    const blocking = findings.filter(
      (draft) => scene.policy.block_on.includes(draft.severity) || (draft.action ?? 'ask-user') === 'ask-user',
    )
    for (const { draft, reason } of checkFindings(blocking, places).refused)
      context.addIssue({ code: 'custom', message: `the finding at ${JSON.stringify(draft.file)} is refused: ${reason}` })
  })
}

/** Findings are checked before they count; what was not looked at, and what had to be refused, is said. */
const accept = async (role: Looker, { input, turn }: Claimed, scene: Scene, output: ReviewOutput): Promise<RunRecord> => {
  const { policy, record, source } = scene
  const skipped = skippedOf(output, scene)
  const { findings: found, refused } = checkFindings(output.findings, await findingContext(scene, output.findings))
  const all = [...found.filter(({ rule }) => rule !== NOT_REVIEWED), ...notReviewed(skipped, policy)]
  const findings = await withContent(scene.workspace.files, all)
  const looked = applyReview(record, {
    role,
    turn,
    round: input.round,
    findings,
    accounts: [...output.accounts, ...readNow(record, findings)],
    given: role === 'reviewer' ? record.given : [],
  })
  const told = refused.map(
    ({ draft, reason }) => `Turn ${turn}: a finding at ${JSON.stringify(oneLine(redact(draft.file)))} was refused: ${reason}.`,
  )
  const standing = markDeclined(looked, source.declinedBefore)
  return markReturned(
    { ...standing, skipped, notices: [...standing.notices, ...told], given: role === 'reviewer' ? [] : standing.given },
    source.fixedBefore,
  )
}

/** A reason is an agent's words. */
const MOST_REASON = 2000

/** What the agent did not look at, and what it could not have looked at: each file once. A name that leads out of the change is none of it. */
const skippedOf = (output: ReviewOutput, { diff }: Scene): SkippedFile[] => {
  const changed = new Set(diff.map(({ path }) => path))
  const omitted = diff.flatMap(({ path, omitted: reason }) => (reason === null ? [] : [{ file: path, reason }]))
  const said = output.skipped.flatMap(({ file, reason }) => {
    const place = changed.has(file) ? { path: file } : normalisePath(file)
    return 'path' in place ? [{ file: place.path, reason: printable(redact(reason)).slice(0, MOST_REASON) }] : []
  })
  return [...new Map([...omitted, ...said].map((entry) => [entry.file, entry])).values()]
}

/** `not-reviewed` is the loop's own finding, so the loop accounts for it: a file that was read this time is no longer unread. */
const readNow = (record: RunRecord, findings: readonly { id: string }[]) => {
  const still = new Set(findings.map((finding) => finding.id))
  return record.findings
    .filter((finding) => finding.rule === NOT_REVIEWED && finding.status === 'open' && !still.has(finding.id))
    .map((finding) => ({ id: finding.id, status: 'fixed' as const }))
}
