/** What must hold of run items, branches, executions and pushes: one speaker, one question at a time, one decision, one verdict. */
import { isDeepStrictEqual } from 'node:util'
import type { Decision } from '../../../lib/loop/decision.ts'
import type { BranchItem, RunItem } from '../../../lib/loop/items.ts'
import type { Forge } from '../../../lib/loop/ports.ts'
import type { RunState } from '../../../lib/loop/run.ts'
import { turnOf } from '../../../lib/loop/verdict.ts'
import type { Monitor } from './monitor.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

const MINUTE = 60_000
/** What of an ended run's item may not change any more: whoever finishes its Close counts and marks it, no more. */
const lasting = ({
  rev: _rev,
  nonce: _nonce,
  epoch: _epoch,
  closed: _closed,
  updatedAt: _updatedAt,
  ttl: _ttl,
  ...item
}: RunItem): object => item
const same = (a: unknown, b: unknown): boolean => a === b || isDeepStrictEqual(a, b)

export class RunWatch {
  readonly items = new Map<string, RunItem>()
  readonly branches = new Map<string, BranchItem>()
  /** Decisions by run and question, as they were accepted. */
  readonly decisions = new Map<string, Decision>()
  /** Runs that a person aborted. */
  readonly aborts = new Set<string>()
  /** Pushes that moved a branch, by run. */
  readonly pushes = new Map<string, string[]>()
  /** Tokens that a Park stored beside a decision which was there already, and those that were woken. */
  readonly #due = new WeakMap<Worker, string>()
  readonly #publishing = new WeakSet<Worker>()
  readonly #world: World
  readonly #monitor: Monitor

  constructor(world: World, monitor: Monitor) {
    this.#world = world
    this.#monitor = monitor
  }

  itemOf(runId: string): RunItem | null {
    return this.items.get(runId) ?? null
  }

  /** Fix commits of the finished turns before a turn, in order. */
  commitsBefore(runId: string, turn: number): string[] {
    const found: string[] = []
    let at = this.itemOf(runId)?.request.head
    for (let number = 1; number < Math.min(turn, this.#monitor.turns.lastTurn + 1); number++) {
      const done = this.#monitor.turns.results.get(`${runId} ${number}`)?.done
      if (done && done.state.commit !== at) found.push(done.state.commit)
      at = done?.state.commit ?? at
    }
    return found
  }

  written(worker: Worker, item: RunItem): void {
    const { runId } = item
    const old = this.items.get(runId) ?? null
    this.items.set(runId, item)
    const not = (what: string): void => this.#monitor.violate(`${runId}: ${what} (by ${worker.label})`)
    const epoch = this.#world.duties.get(worker)?.epoch ?? null
    if (!old) return
    if (item.epoch > old.epoch)
      this.#monitor.saw(old.status === 'ended' ? 'Close taken up again' : item.verdict ? 'run ended from outside' : 'run resumed')
    if (!old.verdict && item.verdict?.outcome === 'approved') this.#approved(item, not)
    if (item.closed) this.#monitor.closed.add(runId)
    if (old.verdict && !same(old.verdict, item.verdict)) not(`the verdict ${old.verdict.reason} became ${item.verdict?.reason}`)
    if (old.status === 'ended' && !same(lasting(old), lasting(item))) not('the run item was changed after the run had ended')
    if (old.closed) not('the run item was written after Close had finished')
    if (item.epoch !== old.epoch && item.epoch !== old.epoch + 1) not(`the epoch went from ${old.epoch} to ${item.epoch}`)
    if (epoch !== null && epoch !== old.epoch) not(`an execution of epoch ${epoch} wrote the run item of epoch ${old.epoch}`)
    if (old.publishing && !same(old.publishing, item.publishing)) not('what is to be pushed was changed')
    if (item.publishing) this.#publishing.add(worker)
    if (old.question && item.question?.id !== old.question.id) this.#asked(old, item, not)
    else if (old.decision && !same(old.decision, item.decision)) not('a decision was changed')
    if (item.decision && !same(old.decision, item.decision)) this.#decided(worker, item, item.decision, not)
    if (item.status === 'parked' && item.token !== old.token && item.decision && item.token) this.#due.set(worker, item.token)
  }

  /** With fix commits there is a certificate on the commit that stands, or a person who approved. */
  #approved(item: RunItem, not: (what: string) => void): void {
    const { runId, request, verdict, decision } = item
    const commits = this.commitsBefore(runId, Number.MAX_SAFE_INTEGER)
    const isPersons =
      decision?.answer.kind === 'approve' && decision.by === verdict?.by && this.decisions.has(`${runId} ${decision.question}`)
    const isCertified = [...this.#monitor.turns.results].some(
      ([
        key,
        {
          role,
          done: { state },
        },
      ]) => {
        const { last, commit } = state
        const isClean = last?.step === 'Certify' && last.ended === 'done' && last.open.autoFix + last.open.other + last.open.stuck === 0
        return key.startsWith(`${runId} `) && role === 'certifier' && isClean && commit === (commits.at(-1) ?? request.head)
      },
    )
    if (commits.length && !isCertified && !isPersons) not('it was approved with fix commits, without a certificate and without a person')
    if (verdict?.reason === 'by-person' && !isPersons) not('it was approved in the name of a person who did not approve')
  }

  /** A branch goes to another run only when the one that holds it has ended, or was told to. */
  branchWritten(worker: Worker, item: BranchItem): void {
    const old = this.branches.get(item.key)
    this.branches.set(item.key, item)
    const before = old?.active && old.active !== item.active ? this.itemOf(old.active) : null
    const isStarted = before !== null && this.#world.executions.byName.has(`${before.runId}-${before.epoch}`)
    if (before && isStarted && before.verdict === null)
      this.#monitor.violate(`the branch was taken from ${before.runId}, which goes on, for ${item.active} (by ${worker.label})`)
  }

  #asked(old: RunItem, item: RunItem, not: (what: string) => void): void {
    const before = old.question?.id ?? ''
    if (!item.question || turnOf(item.question.id) < turnOf(before)) not(`question ${item.question?.id} took the place of ${before}`)
    if (!old.decision) return
    if (old.decision.answer.kind !== 'fix')
      not(`question ${item.question?.id} was asked after ${before} had been answered with ${old.decision.answer.kind}`)
    else if (!this.isTakenUp(item.runId, old.decision))
      not(`question ${item.question?.id} was asked and nobody acted on the decision of ${before}`)
  }

  /** Whether a turn of the fixer was given the decision. */
  isTakenUp(runId: string, decision: Decision): boolean {
    if (this.#monitor.turns.forgotten.has(runId)) return true
    const turn = turnOf(decision.question) + 1
    const entry = this.#monitor.turns.inputs.get(`${runId} ${turn}`)
    return entry?.role === 'fixer' && entry.input['decision'] === `decisions/${runId}/${decision.question}.json`
  }

  #decided(worker: Worker, item: RunItem, decision: Decision, not: (what: string) => void): void {
    const { question } = item
    const at = Date.parse(decision.at) - worker.skew
    if (question?.id !== decision.question) not('a decision answers a question that is not asked')
    const expires = Date.parse(question?.expiresAt ?? '')
    if (decision.answer.kind === 'expired' && at < expires - 16 * MINUTE) not('the time was over before it was')
    if (decision.answer.kind !== 'expired' && at >= expires + MINUTE) not('a decision was accepted when its time was over')
    const key = `${item.runId} ${decision.question}`
    if (this.decisions.has(key)) not('a question was answered twice')
    this.decisions.set(key, decision)
    this.#monitor.saw(decision.answer.kind === 'expired' ? 'question expired' : 'decision of a person')
  }

  woken(worker: Worker, token: string): void {
    if (this.#due.get(worker) === token) this.#due.delete(worker)
  }

  /** A Park has finished: an answer that was there before it must have woken the execution. */
  parked(worker: Worker): void {
    const token = this.#due.get(worker)
    if (token !== undefined) this.#monitor.violate(`${worker.label} found a decision and did not wake ${token}`)
  }

  /** A person was told that the decision is accepted. */
  accepted(runId: string, question: string, answer: unknown): void {
    const decision = this.decisions.get(`${runId} ${question}`)
    if (!same(decision?.answer, answer))
      this.#monitor.violate(`${runId}: a decision of ${question} was accepted and is not the one that counts`)
  }

  pushed(worker: Worker, { commit, target, changeset }: Parameters<Forge['publish']>[0]): void {
    const runId = this.#world.duties.get(worker)?.runId ?? ''
    const not = (what: string): void => this.#monitor.violate(`${runId}: ${what} (by ${worker.label})`)
    const run = this.itemOf(runId)
    const before = this.pushes.get(runId) ?? []
    if (before.length) not(`a second push, of ${commit}`)
    this.#monitor.saw('push')
    this.pushes.set(runId, [...before, commit])
    if (!this.#publishing.has(worker)) not('a push that its worker had not recorded')
    if (!same(run?.publishing, { ref: target, commit })) not(`${commit} was pushed to ${target}, and is not what was recorded`)
    const ids = changeset.commits.map(({ id }) => id)
    if (new Set(ids).size !== ids.length) not('a commit stands twice in what was pushed')
    const made = this.commitsBefore(runId, Number.MAX_SAFE_INTEGER)
    if (!this.#monitor.turns.forgotten.has(runId) && !same(ids, made))
      not(`${ids.join(' ')} was pushed, finished turns made ${made.join(' ')}`)
  }

  executionStarted(name: string, input: RunState, before: RunState | null): void {
    const run = this.itemOf(input.runId)
    const not = (what: string): void => this.#monitor.violate(`${name}: ${what}`)
    if (name !== `${input.runId}-${input.epoch}`) not(`is the name of an execution of epoch ${input.epoch}`)
    if (before && !same({ ...before }, { ...input })) not('was started again with another input')
    if (!run) return not('was started before the run item was written')
    if (input.epoch > run.epoch) not(`was started before its epoch, ${run.epoch} speaks for the run`)
    if (before || input.epoch !== run.epoch || run.status === 'ended' || input.next === 'Close') return
    const branch = this.branches.get(this.#world.system.branchKeyOf(run.request.repository, run.request.branch ?? run.request.head))
    if (branch?.active !== run.runId) not(`was started while ${branch?.active ?? 'nobody'} holds the branch`)
  }
}
