/** What comes from outside the executions: people, schedules, events of the service, the operator, time. */
import type { Answer } from '../../../lib/loop/decision.ts'
import { runRecord } from '../../../lib/loop/record.ts'
import type { RunItem } from '../../../lib/loop/items.ts'
import type { RunRequest } from '../../../lib/loop/run.ts'
import { STATE_OF_ROLE, type TaskState } from '../../../lib/names.ts'
import { cut, damage, expire, jump, killProcess } from './calamities.ts'
import type { Invoked } from './executions.ts'
import { BRANCH } from './forge.ts'
import type { Outside as Kind } from './profile.ts'
import type { World } from './world.ts'

const MOST_RUNS = 3
/** Those whose turns are fenced: the others have the run item alone to tell that they are late. */
const TURN_STATES: readonly TaskState[] = Object.values(STATE_OF_ROLE)
/** Times that the service hands an event over again. */
const EVENT_TRIES = 20

export class Outside {
  /** Requests so far; the latest is the branch's head. */
  readonly requests: RunRequest[] = []
  readonly #world: World
  /** A start was cut off: it may have left a lock that holds nothing, which the next start takes. */
  isStartCut = false
  /** What the tables are still to be told. */
  readonly pending: Promise<unknown>[] = []
  #events = 0

  constructor(world: World) {
    this.#world = world
  }

  runIdOf(request: RunRequest): string {
    return this.#world.system.runIdOf(request, [this.#world.agent.id])
  }

  /** Runs that were asked for. */
  runIds(): string[] {
    return this.requests.map((request) => this.runIdOf(request))
  }

  unfinished(): RunItem[] {
    return this.runIds().flatMap((runId) => {
      const run = this.#world.monitor.runs.itemOf(runId)
      return run && !run.closed ? [run] : []
    })
  }

  hasRun(): boolean {
    return this.runIds().some((runId) => this.#world.monitor.runs.itemOf(runId) !== null)
  }

  /** A developer pushes, and a run of the new head is asked for. */
  push(): void {
    const { seed, forge, profile, monitor } = this.#world
    const digit = String(this.requests.length + 1)
    const head = digit.repeat(40)
    if (this.requests.length) for (const error of ['HeadMoved', 'NotTheBranchHead']) monitor.excuse(error)
    forge.tips.set(BRANCH, head)
    this.requests.push({
      repository: `https://git.example/team/project-${seed}`,
      branch: BRANCH,
      base: 'b'.repeat(40),
      head,
      overrides: profile.settings,
      attempt: 1,
      publishTo: profile.ontoBranch ? BRANCH : null,
    })
    this.start(this.requests.length - 1)
  }

  start(index: number): void {
    const request = this.requests[index]
    if (!request) return
    this.#actor(
      `start of run ${index + 1}`,
      (ports) => this.#world.system.startRun(ports, { request, startedBy: 'test', checkHead: true }).then(() => undefined),
      (isOk) => {
        this.isStartCut ||= !isOk
      },
    )
  }

  resume(runId: string): void {
    this.#actor('resume', (ports) => this.#world.system.resumeRun(ports, runId).then(() => undefined))
  }

  /** The service tells that an execution ended where no Catch could see, later and perhaps twice. */
  lost(name: string, status: string): void {
    const { scheduler, random, profile } = this.#world
    if (profile.embedded && (status === 'ABORTED' || this.#events++ > 3)) return
    const times = random.chance(0.1) ? 2 : 1
    for (let time = 0; time < times; time++)
      scheduler.at(random.int(0, 120_000), `event: ${name} ${status}`, () => this.#event(name, status, 1))
  }

  #event(name: string, status: string, tries: number): void {
    const { system, scheduler } = this.#world
    this.#actor(
      `record-failure of ${name}`,
      (ports) => system.recordLostExecution(ports, { name, status }),
      (isOk) => {
        if (!isOk && tries < EVENT_TRIES) scheduler.at(60_000, `event again: ${name}`, () => this.#event(name, status, tries + 1))
      },
    )
  }

  /** A person answers the question that the run item holds. */
  decide(runId: string): void {
    const { system, monitor } = this.#world
    const run = monitor.runs.itemOf(runId)
    if (!run?.question) return
    const { id } = run.question
    const answer = this.#answer(run)
    const by = this.#world.random.pick(['ada', 'bob'])
    this.#actor(
      `decision ${answer.kind} of ${by} about ${id}`,
      async (ports) => {
        await system.decideRun(ports, runId, { question: id, answer, by })
        monitor.runs.accepted(runId, id, answer)
      },
      (isOk, error) => {
        if (!isOk && system.asLoopError(error).name === 'StaleDecision') monitor.saw('decision refused')
      },
    )
  }

  #answer({ question }: RunItem): Answer {
    const { random, artifacts } = this.#world
    const kind = this.#world.fair
      ? random.weighted({ approve: 1, skip: 1 })
      : random.weighted({ approve: 3, fix: question?.roundsLeft ? 8 : 0, skip: 2, abort: 1 })
    if (kind !== 'fix') return { kind }
    const bytes = artifacts.objects.get(question?.record ?? '')
    const open = bytes ? runRecord.parse(JSON.parse(Buffer.from(bytes).toString())).findings.filter(({ status }) => status === 'open') : []
    const ids = open.map(({ id }) => id)
    if (!ids.length) return { kind: 'approve' }
    const first = ids[0] ?? ''
    return {
      kind,
      findings: [first],
      decline: ids.slice(1).filter(() => random.chance(0.5)),
      notes: { [first]: `note ${random.int(1, 99)}` },
      add: [],
    }
  }

  happen(kind: Kind): void {
    const { random, executions, monitor } = this.#world
    const runId = random.pick(this.runIds())
    switch (kind) {
      case 'resume':
        return this.resume(runId)
      case 'abort':
        monitor.runs.aborts.add(runId)
        return this.#actor('abort', (ports) => this.#world.system.abortRun(ports, runId, 'ada').then(() => undefined))
      case 'same':
        return this.start(random.int(0, this.requests.length - 1))
      case 'newer':
        return this.requests.length < MOST_RUNS ? this.push() : undefined
      case 'decide':
        return this.decide(runId)
      case 'decide-twice':
        this.decide(runId)
        return this.decide(runId)
      case 'twin':
        return this.#invokeAgain(executions.invocations.slice(-3))
      case 'again':
        return this.#invokeAgain(
          random.chance(0.5) ? executions.invocations : executions.invocations.filter(({ state }) => !TURN_STATES.includes(state)),
        )
      case 'stop':
        return cut(this.#world, 'stopped')
      case 'lost':
        return cut(this.#world, 'failed')
      case 'kill-process':
        return killProcess(this.#world)
      case 'jump':
        return jump(this.#world)
      case 'expire':
        return expire(this.#world)
      case 'damage':
        return damage(this.#world)
    }
  }

  /** The same invocation once more, whose answer nobody waits for: another worker of the same turn, or one that is very late. */
  #invokeAgain(found: readonly Invoked[]): void {
    if (!found.length) return
    const { execution, state, event } = this.#world.random.pick(found)
    const ignored = (): void => undefined
    this.#world.executions.invoke(execution, state, event, ignored, ignored)
  }

  #actor(
    what: string,
    body: (ports: Parameters<Parameters<World['call']>[2]>[0]) => Promise<unknown>,
    onEnd: (isOk: boolean, error?: unknown) => void = () => undefined,
  ): void {
    const worker = this.#world.call(what, { runId: null, epoch: null, timeout: 60 }, body, (end) =>
      onEnd(!('error' in end), 'error' in end ? end.error : undefined),
    )
    worker.onDeath = () => onEnd(false)
  }
}
