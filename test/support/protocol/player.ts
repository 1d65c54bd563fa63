/** How a schedule is played. */
import { OUTSIDE } from './profile.ts'
import type { Outcome, Worker } from './worker.ts'
import type { World } from './world.ts'

/** Steps that a fair world may take to bring every run to its end, and resumes that it may need. */
const FAIR_STEPS = 6000
const FAIR_RESUMES = 12

const WRITE_FAULTS: Partial<Record<Outcome, number>> = {
  'lost-before': 2,
  'lost-after': 3,
  'lost-late': 1,
  resend: 2,
  'crash-before': 2,
  'crash-after': 3,
  'crash-late': 1,
}
const READ_FAULTS: Partial<Record<Outcome, number>> = { 'lost-before': 2, 'crash-before': 2 }

/** Chooses what happens next: chaos for a while, then only fair things, then some that come too late. */
export class Player {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  get #isOver(): boolean {
    return this.#world.monitor.violation !== null
  }

  async chaos(): Promise<void> {
    const { scheduler, random, profile, outside } = this.#world
    for (let head = 0; head < profile.heads; head++) {
      outside.push()
      await scheduler.settle()
      // The first start may be on its way already.
      for (let steps = random.int(0, 12); steps > 0 && head + 1 < profile.heads; steps--) await this.#step(profile.fault, 0)
    }
    while (!this.#isOver && scheduler.step < profile.steps) {
      if (random.chance(profile.outside) && OUTSIDE.some((kind) => profile.weights[kind] > 0)) {
        const kind = random.weighted(profile.weights)
        scheduler.note(`outside: ${kind}`)
        outside.happen(kind)
        await Promise.all(outside.pending.splice(0))
        await scheduler.settle()
      }
      if (!(await this.#step(profile.fault, profile.stall))) {
        const isOver = outside.unfinished().length === 0
        if (isOver && outside.hasRun()) break
        // Nothing goes on by itself: what happens next comes from outside.
        scheduler.step++
        if (isOver) outside.start(outside.requests.length - 1)
        else outside.happen(random.pick(['resume', 'decide', 'jump']))
        await scheduler.settle()
      }
    }
  }

  async fairly(): Promise<void> {
    const { scheduler, random, outside, monitor } = this.#world
    this.#world.fair = true
    scheduler.note('from here on only fair things happen')
    for (const worker of scheduler.workers)
      if (worker.stalledUntil > scheduler.step) worker.stalledUntil = scheduler.step + random.int(0, 200)
    // Whoever asked for the latest head asks again.
    outside.start(outside.requests.length - 1)
    await scheduler.settle()
    const until = scheduler.step + FAIR_STEPS
    let resumes = 0
    while (!this.#isOver) {
      const [run] = outside.unfinished()
      if (scheduler.step > until)
        return monitor.violate(
          `${outside
            .unfinished()
            .map(({ runId }) => runId)
            .join(' ')} did not end within ${FAIR_STEPS} fair steps`,
        )
      if (await this.#step(0, 0)) continue
      if (!run) return
      if (resumes++ > FAIR_RESUMES) return monitor.violate(`${run.runId} did not end though it was resumed ${FAIR_RESUMES} times`)
      outside.resume(run.runId)
      await scheduler.settle()
    }
  }

  /** The runs have ended: what still comes changes nothing. */
  async after(): Promise<void> {
    const { scheduler, random, outside } = this.#world
    if (!outside.hasRun() || random.chance(0.6)) return
    scheduler.note('the runs have ended')
    for (let late = random.int(1, 4); late > 0 && !this.#isOver; late--) {
      outside.happen(random.pick(['again', 'again', 'decide', 'resume', 'same', 'abort']))
      await scheduler.settle()
      while (!this.#isOver && (await this.#step(0, 0)));
    }
    // A request whose start had been cut off may have begun only now.
    if (outside.unfinished().length) await this.fairly()
  }

  /** Lets one thing happen; false where nothing can. */
  async #step(fault: number, stall: number): Promise<boolean> {
    const { scheduler, random } = this.#world
    scheduler.now += random.chance(0.02) ? random.int(1000, 60_000) : random.int(1, 500)
    this.#abortLate()
    const all = scheduler.ready()
    const ready = all.filter(({ stalledUntil }) => stalledUntil <= scheduler.step)
    const timer = scheduler.nextTimer()
    const isDue = timer !== null && timer.at <= scheduler.now
    if (scheduler.inFlight.length && (random.chance(0.05) || (!ready.length && !isDue))) {
      this.#world.monitor.saw('request landed late')
      await scheduler.land(random.int(0, scheduler.inFlight.length - 1))
      return true
    }
    if (timer && !isDue && !all.length && (await this.#answered())) return true
    if (timer && (isDue ? random.chance(0.5) || !ready.length : !ready.length && (!all.length || random.chance(0.7)))) {
      await scheduler.fire(timer)
      return true
    }
    const worker = ready.length ? random.pick(ready) : all.length ? random.pick(all) : null
    if (!worker) return false
    worker.stalledUntil = 0
    if (random.chance(stall)) {
      worker.stalledUntil = scheduler.step + random.int(10, 300)
      scheduler.note(`${worker.label} is held up`)
      for (const error of ['Unexpected', 'TurnBusy']) this.#world.monitor.excuse(error)
      return true
    }
    await this.#choose(worker, fault)
    return true
  }

  /** Where an execution only waits for a person, there mostly is one, before the time is over. */
  async #answered(): Promise<boolean> {
    const { scheduler, random, outside, executions } = this.#world
    const waiting = executions.running().filter(({ waits }) => waits === 'token')
    if (!waiting.length || !random.chance(0.7)) return false
    scheduler.step++
    outside.decide(random.pick(waiting).runId)
    await scheduler.settle()
    return true
  }

  async #choose(worker: Worker, fault: number): Promise<void> {
    const { scheduler, random } = this.#world
    const index = random.int(0, worker.points.length - 1)
    const point = worker.points[index]
    let outcome: Outcome = 'go'
    if (point && random.chance(fault)) {
      outcome = random.weighted(point.writes ? WRITE_FAULTS : READ_FAULTS)
      if (outcome === 'resend' && point.resent) outcome = 'go'
      this.#excuse(outcome)
    }
    await scheduler.choose(worker, index, outcome)
  }

  #excuse(outcome: Outcome): void {
    const { monitor } = this.#world
    if (outcome !== 'go') monitor.saw(outcome.startsWith('crash') ? 'worker crashed' : 'answer lost')
    if (outcome.startsWith('crash')) for (const error of ['Unexpected', 'TurnBusy']) monitor.excuse(error)
    if (outcome.startsWith('lost'))
      for (const error of ['StoreUnavailable', 'FetchFailed', 'PushFailed', 'GitTimedOut', 'AgentOverloaded']) monitor.excuse(error)
  }

  /** Past its deadline a worker is told to stop, and past a while it is gone, as often as not. */
  #abortLate(): void {
    const { scheduler, duties, random } = this.#world
    for (const worker of scheduler.workers) {
      const duty = duties.get(worker)
      if (!duty || this.#world.now < duty.deadline || worker.controller.signal.aborted) continue
      worker.controller.abort()
      this.#world.monitor.excuse('AgentCancelled')
      this.#world.monitor.excuse('AgentTimedOut')
      if (this.#world.fair || random.chance(0.5)) continue
      for (const error of ['Unexpected', 'TurnBusy']) this.#world.monitor.excuse(error)
      scheduler.kill(worker)
    }
  }
}
