/** What must hold when everything has come to its end. */
import type { RunItem } from '../../../lib/loop/items.ts'
import { runRecord } from '../../../lib/loop/record.ts'
import { roleKey, TURN_ROLES, turnSk } from '../../../lib/names.ts'
import type { World } from './world.ts'

export const finalCheck = (world: World): void => {
  for (const runId of world.outside.runIds()) {
    const run = world.monitor.runs.itemOf(runId)
    if (run) checkRun(world, run)
  }
  const { monitor, system, outside } = world
  const [request] = outside.requests
  const branch = request && monitor.runs.branches.get(system.branchKeyOf(request.repository, request.branch ?? request.head))
  const holder = branch?.active ? monitor.runs.itemOf(branch.active) : null
  if (holder?.closed && !outside.isStartCut) monitor.violate(`the branch is held by ${holder.runId}, which has ended`)
}

const checkRun = (world: World, run: RunItem): void => {
  const { monitor, artifacts } = world
  const { runId, verdict } = run
  const not = (what: string): void => monitor.violate(`${runId} at its end: ${what}`)
  if (run.status !== 'ended' || !verdict || !run.endedAt) return not('it has not ended')
  if (!run.closed || !monitor.closed.has(runId)) return not('no Close has finished')
  for (const role of TURN_ROLES) {
    const item = monitor.turns.itemOf(runId, role)
    if (!item && monitor.turns.forgotten.has(runId)) continue
    if (!item?.closed) not(`the ${role}'s item is no tombstone`)
    if (item?.session || item?.checkpoint) not(`the ${role}'s item holds a session`)
  }
  for (const key of artifacts.objects.keys())
    if (key.includes(runId) && (key.startsWith('transcripts/') || key.startsWith('work/')) && !monitor.late.has(key))
      not(`${key} is still there`)
  const report = artifacts.objects.get(run.reports['json'] ?? '')
  if (!report) return not('there is no report')
  const told = JSON.parse(Buffer.from(report).toString()) as { outcome: string; reason: string; by: string | null }
  if (told.outcome !== verdict.outcome || told.reason !== verdict.reason || told.by !== verdict.by) not('the report tells another verdict')
  checkVerdict(world, run, not)
  checkDecisions(world, run, not)
  checkHistory(world, run, not)
}

const checkVerdict = ({ monitor }: World, run: RunItem, not: (what: string) => void): void => {
  const { runId, verdict } = run
  if (!verdict) return
  if (verdict.outcome === 'failed' && !monitor.excuses.has(verdict.error ?? ''))
    not(`it failed with ${verdict.error}, which nothing explains: ${run.failure?.message}`)
  if (verdict.outcome === 'aborted' && !monitor.runs.aborts.has(runId) && !hasAnswer(monitor, run, 'abort')) not('nobody aborted it')
}

/** Every finished turn is in the history, as it was recorded. */
const checkHistory = ({ monitor }: World, { runId }: RunItem, not: (what: string) => void): void => {
  if (monitor.turns.forgotten.has(runId)) return
  for (const [key, { role, done }] of monitor.turns.results) {
    if (!key.startsWith(`${runId} `)) continue
    const told = monitor.history.get(`Runs|${roleKey(runId, role)}|${turnSk(done.turn)}`)
    if (told?.fence !== done.record.fence) not(`turn ${done.turn} is not in the history as it was finished`)
  }
}

const hasAnswer = (monitor: World['monitor'], { runId, decision }: RunItem, kind: string): boolean =>
  decision?.answer.kind === kind && monitor.runs.decisions.has(`${runId} ${decision.question}`)

/** Every decision was acted on, once, unless the run was ended by something else. */
const checkDecisions = ({ monitor, artifacts }: World, run: RunItem, not: (what: string) => void): void => {
  const { runId, verdict } = run
  const bytes = run.record ? artifacts.objects.get(run.record) : null
  const record = bytes ? runRecord.parse(JSON.parse(Buffer.from(bytes).toString())) : null
  const questions = record?.decisions.map(({ question }) => question) ?? []
  if (new Set(questions).size !== questions.length) not('a decision stands twice in the record')
  const isCut = verdict && ['failed', 'superseded', 'aborted'].includes(verdict.outcome)
  if (isCut || !verdict) return
  for (const [key, { question, answer, by }] of monitor.runs.decisions) {
    if (!key.startsWith(`${runId} `)) continue
    const reason = { approve: 'by-person', skip: 'skipped', expired: 'expired', fix: null, abort: null }[answer.kind]
    if (reason !== null && (verdict.reason !== reason || verdict.by !== by))
      not(`${question} was answered ${answer.kind}, it ended ${verdict.reason}`)
    const decided = monitor.runs.decisions.get(key)
    if (answer.kind === 'abort') not(`${question} was answered abort, it ended ${verdict.reason}`)
    if (answer.kind === 'fix' && verdict.reason !== 'rounds' && decided && !monitor.runs.isTakenUp(runId, decided))
      not(`nobody acted on the decision of ${question}`)
  }
}
