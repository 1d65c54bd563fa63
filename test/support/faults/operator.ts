/** People at their command lines: they start runs, go on with what was cut off, answer what is asked, and come back until all is done. */
import { decideRun } from '../../../lib/loop/decide.ts'
import { asLoopError } from '../../../lib/loop/errors.ts'
import type { RunItem } from '../../../lib/loop/items.ts'
import { resumeRun } from '../../../lib/loop/resume.ts'
import { startRun } from '../../../lib/loop/start.ts'
import { follow, type Asking } from '../../../lib/local/follow.ts'
import type { LocalLoop } from '../../../lib/local/local-loop.ts'
import { writeRunFolder } from '../../../lib/local/run-folder.ts'
import { executionName } from '../../../lib/names.ts'
import { answerTo } from './answers.ts'
import { readItem } from './leftovers.ts'
import { outsideOf } from './outside.ts'
import type { HeadName } from './place.ts'
import type { Program, World } from './world.ts'

/** Processes that a calm world may take to bring all its runs to rest: one for each question that can be left, and to look at the end. */
const CALM_PROCESSES = 24

/** Brings the world's runs to rest: ended and shown, or parked for good. */
export const operate = async (world: World): Promise<void> => {
  world.outside = outsideOf(world)
  const person = new Person(world)
  for (let processes = 1; ; processes++) {
    world.calm = processes > world.plan.processes
    const program = await world.boot()
    const over = await Promise.race([program.life.died.promise.then(() => 'killed' as const), person.command(program)])
    await shut(world, program, over === 'killed')
    if (over === 'rest') return
    if (processes > world.plan.processes + CALM_PROCESSES) return world.monitor.violation('the runs come to no rest')
  }
}

/** As the command line lets go: what runs is interrupted. Of a killed process nothing is left to let go of. */
const shut = async (world: World, { life, loop }: Program, killed: boolean): Promise<void> => {
  if (!killed) {
    await Promise.race([life.died.promise, loop.engine.interrupt(1000)]).catch((error: unknown) => complain(world, error))
  }
  // From here on nothing of it comes to anything, and its timers are taken away.
  life.killed = true
  life.died.resolve()
  void loop.engine.interrupt(0).catch(() => {})
  loop.close()
}

const complain = (world: World, error: unknown): void => world.monitor.note(`  the command ends: ${String(error)}`)

/** Who follows a run reads it again and again, as the machine's own time goes by: that must not move anything. */
const lookingOn = (world: World, loop: LocalLoop): LocalLoop => {
  const { runs } = loop.ports.runs
  const looking = { ...runs, read: (runId: string) => world.turnstile.look(() => readItem(world, runId)) }
  return { ...loop, ports: { ...loop.ports, runs: { ...loop.ports.runs, runs: looking } } }
}

class Person {
  readonly #world: World
  readonly #shown = new Set<string>()
  readonly #left = new Set<string>()

  constructor(world: World) {
    this.#world = world
  }

  /** One command in one process. */
  async command(program: Program): Promise<'rest' | 'again'> {
    try {
      const open = await this.#open()
      if (!open.length) return 'rest'
      const beside = this.#world.plan.neighbour === 'beside' ? open : open.slice(0, 1)
      const done = await Promise.allSettled(beside.map((name) => this.#follow(program, name)))
      for (const result of done) if (result.status === 'fulfilled' && result.value) await this.#show(program, result.value)
      for (const result of done) if (result.status === 'rejected') throw result.reason
      if (this.#world.plan.lateBeforeEnd) await this.#world.staff.letLateOnesEnd(program.life)
    } catch (error) {
      complain(this.#world, error)
    }
    return 'again'
  }

  /** Runs that are not at rest, in the order in which people care for them. */
  async #open(): Promise<HeadName[]> {
    const { plan } = this.#world
    const wanted: HeadName[] =
      plan.neighbour === 'none' ? ['main', 'newer'] : plan.neighbour === 'before' ? ['other', 'main', 'newer'] : ['main', 'other', 'newer']
    const open = await Promise.all(
      wanted.map(async (name) => {
        const item = await this.#item(name)
        if (!item) return name !== 'newer' && !(name === 'main' && (await this.#item('newer')))
        return !this.#left.has(item.runId) && !(item.status === 'ended' && this.#shown.has(item.runId))
      }),
    )
    return wanted.filter((_, at) => open[at])
  }

  #item(name: HeadName): Promise<RunItem | null> {
    return this.#world.aside(() => readItem(this.#world, this.#world.runIdOf(name)))
  }

  /** Until the run rests; null where it is left as it is. */
  async #follow(program: Program, name: HeadName): Promise<RunItem | null> {
    const { loop } = program
    const item = await this.#item(name)
    const run =
      item?.status === 'parked' && !item.decision
        ? await this.#decide(program, item)
        : item?.status === 'ended'
          ? item
          : await this.#start(program, name, item)
    if (!run) return null
    const here = loop.engine.names().includes(executionName(run.runId, run.epoch))
    if (run.status !== 'ended' && !here) await resumeRun(loop.ports, run.runId)
    return follow(lookingOn(this.#world, loop), run.runId, this.#world.plan.waits ? this.#asking() : null)
  }

  async #show({ loop }: Program, run: RunItem): Promise<void> {
    await Promise.all(loop.engine.names().map((execution) => loop.engine.waitFor(execution)))
    const files = await writeRunFolder(loop.ports, this.#world.folder.path, run)
    this.#world.monitor.read(`report of ${run.runId}`, JSON.stringify(files.report))
    if (run.status === 'ended') this.#shown.add(run.runId)
  }

  /** `run`, again where it was cut off, or `resume`. */
  async #start(program: Program, name: HeadName, item: RunItem | null): Promise<RunItem | null> {
    const { world, ports, request } = { world: this.#world, ports: program.loop.ports, request: this.#world.requests[name] }
    if (item && world.chance.happens(0.5, 'resumes', program.life.id)) return item
    const opening = name === 'main' && !item ? world.plan.opening : 'one'
    const start = (what: HeadName) =>
      startRun(ports, { request: world.requests[what], startedBy: 'cli', checkHead: opening !== 'two-heads' })
    if (opening === 'one') return (await startRun(ports, { request, startedBy: 'cli', checkHead: false })).run
    if (opening === 'two-heads') world.monitor.excuses.add('HeadMoved')
    const both = await Promise.allSettled([start('main'), start(opening === 'twice' ? 'main' : 'newer')])
    const [first, second] = both.flatMap((result) => (result.status === 'fulfilled' ? [result.value.run] : []))
    if (opening === 'twice' && first && second && first.runId !== second.runId) world.monitor.violation('one request is two runs')
    return second ?? first ?? null
  }

  async #decide({ loop }: Program, item: RunItem): Promise<RunItem | null> {
    // Too late to answer: what is left is to go on.
    if (this.#world.clock >= Date.parse(item.question?.expiresAt ?? '')) return item
    const chosen = await answerTo(this.#world, item)
    if (chosen === 'leave') {
      this.#left.add(item.runId)
      return null
    }
    if (chosen === 'expire') {
      this.#world.clock = Math.max(this.#world.clock, Date.parse(item.question?.expiresAt ?? '') + 1000)
      return item
    }
    const input = { question: item.question?.id, answer: chosen, by: 'ada' }
    try {
      const run = await decideRun(loop.ports, item.runId, input)
      if (this.#world.chance.happens(0.3, 'twice', item.question?.id ?? '')) await this.#decideAgain(loop.ports, item.runId, input)
      return run
    } catch (thrown) {
      if (asLoopError(thrown).entry.class !== 'user') throw thrown
      this.#world.monitor.note(`  refused: ${String(thrown)}`)
      return decideRun(loop.ports, item.runId, { ...input, answer: { kind: 'skip' } })
    }
  }

  /** The same is answered alike; another is refused. */
  async #decideAgain(ports: Program['loop']['ports'], runId: string, input: Parameters<typeof decideRun>[2]): Promise<void> {
    await decideRun(ports, runId, input)
    const other = { ...input, answer: { kind: input.answer.kind === 'skip' ? 'approve' : 'skip' } as const }
    const refused = await decideRun(ports, runId, other).then(
      () => 'accepted',
      (error: unknown) => asLoopError(error).name,
    )
    if (refused === 'accepted') this.#world.monitor.violation(`another answer to ${input.question} of ${runId} was accepted`)
  }

  #asking(): Asking {
    return {
      by: 'ada',
      tell: (message) => this.#world.monitor.read('told', message),
      ask: async (run) => {
        const answer = await answerTo(this.#world, run)
        if (answer !== 'leave' && answer !== 'expire') return answer
        if (answer === 'leave') this.#left.add(run.runId)
        return null
      },
    }
  }
}
