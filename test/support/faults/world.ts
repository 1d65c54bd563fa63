/** The world of one seed: its data folder, its repository, its clock, and the processes that come and go over them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownDataFolder, type DataFolder } from '../../../lib/local/data-folder.ts'
import { openLoop, type LocalLoop } from '../../../lib/local/local-loop.ts'
import { LoopError } from '../../../lib/loop/errors.ts'
import type { Ports } from '../../../lib/loop/ports.ts'
import type { RunRequest } from '../../../lib/loop/run.ts'
import { runIdOf } from '../../../lib/loop/run-id.ts'
import { Chance } from './chance.ts'
import type { Effect, Life, Worker } from './effect.ts'
import { Lock } from './lock.ts'
import { Monitor } from './monitor.ts'
import { gitPlace, HEADS, memoryPlace, type HeadName, type Place } from './place.ts'
import { planOf, type Outside, type Plan } from './plan.ts'
import { faultyPorts } from './ports.ts'
import { workHere } from './handlers.ts'
import { openWire, type Wire } from './wire.ts'

/** A deliberate fault in the code: what it does to the ports that the use cases see. */
export type Mutant = (ports: Ports, world: World) => Ports

export interface WorldOptions {
  git?: boolean
  mutant?: Mutant
  plan?: Partial<Plan>
  /** Socket of other tables than the data folder's own. */
  tables?: string
}

export interface Program {
  life: Life
  loop: LocalLoop
}

/** Past the machine's own time, so that no question is over by that. */
const T0 = Date.parse('2100-01-05T09:00:00.000Z')

export class World {
  readonly chance: Chance
  readonly plan: Plan
  readonly place: Place
  readonly folder: DataFolder
  readonly scratch: string
  readonly monitor = new Monitor()
  readonly lock = new Lock()
  readonly requests: Record<HeadName, RunRequest>
  /** ms since 1970 */
  clock = T0
  /** Nothing goes wrong any more. */
  calm = false
  /** What comes from outside; set by whoever plays the outside. */
  outside: (what: Outside, program: Program) => Promise<void> = async () => {}
  program: Program | null = null
  readonly #wire: Wire
  readonly #mutant: Mutant
  readonly #counts = new Map<string, number>()
  readonly #frozen = new Set<Worker>()
  /** Handlers under way in the present process. */
  readonly #working = new Set<Promise<unknown>>()
  readonly #tags: ReadonlyMap<string, HeadName>
  #nonces = 0
  #lives = 0

  private constructor(base: { chance: Chance; plan: Plan; place: Place; folder: DataFolder; scratch: string; wire: Wire; mutant: Mutant }) {
    this.chance = base.chance
    this.plan = base.plan
    this.place = base.place
    this.folder = base.folder
    this.scratch = base.scratch
    this.#wire = base.wire
    this.#mutant = base.mutant
    this.requests = requestsOf(base.plan, base.place)
    this.#tags = new Map(HEADS.map((name) => [runIdOf(this.requests[name], ['seeded']), name]))
  }

  static async open(seed: number, options: WorldOptions = {}): Promise<World> {
    const chance = new Chance(seed)
    const plan = { ...planOf(seed, options.git ?? false), ...options.plan }
    const scratch = await mkdtemp(join(tmpdir(), 'reviewloop-faults-'))
    const own = await ownDataFolder(join(scratch, 'data'))
    const folder = { ...own, socket: options.tables ?? own.socket }
    const opened: { world: World | null } = { world: null }
    const wire = await openWire({
      socket: join(scratch, 'wire'),
      upstream: folder.socket,
      chance,
      rate: () => (opened.world && opened.world.program && !opened.world.calm ? plan.wire : 0),
      happened: (what) => {
        opened.world?.monitor.note(`  wire: ${what}`)
        if (opened.world) opened.world.monitor.counts.wire++
        opened.world?.monitor.excuses.add('StoreUnavailable')
      },
    })
    const place = plan.git ? await gitPlace(plan) : memoryPlace(plan, seed)
    const world = new World({ chance, plan, place, folder, scratch, wire, mutant: options.mutant ?? ((ports) => ports) })
    opened.world = world
    // The tables are made by whoever opens the folder first.
    ;(await openLoop(folder, { waits: false })).close()
    return world
  }

  /** How often the name was counted before. */
  nth(name: string): number {
    const count = this.#counts.get(name) ?? 0
    this.#counts.set(name, count + 1)
    return count
  }

  nonce(): string {
    return `00000000-0000-4000-8000-${String(++this.#nonces).padStart(12, '0')}`
  }

  tag(runId: string): string {
    return this.#tags.get(runId) ?? runId
  }

  runIdOf(name: HeadName): string {
    return runIdOf(this.requests[name], ['seeded'])
  }

  /** Without ids and unique values, so that it is the same in every replay. */
  nameOf(text: string): string {
    return text.replace(/r-[0-9a-f]{16}/g, (id) => this.tag(id)).replace(/0{8}-0000-4000-8000-\d{12}/g, '*')
  }

  /** The run that an object belongs to. */
  runOf(key: string): string | null {
    return /r-[0-9a-f]{16}/.exec(key)?.[0] ?? null
  }

  /** A new process over the same data: it has nothing of the one before. */
  async boot(): Promise<Program> {
    const life: Life = { id: `process-${++this.#lives}`, killed: false, died: Promise.withResolvers() }
    this.#working.clear()
    this.#frozen.clear()
    this.monitor.note(`--- ${life.id}${this.calm ? ', calm' : ''}`)
    const loop: LocalLoop = await openLoop(
      { ...this.folder, owned: false, socket: this.#wire.socket, id: life.id },
      {
        waits: this.plan.waits,
        retryInterval: 1,
        ports: (adapters) => this.#mutant(faultyPorts(this, life, adapters, adapters.executions), this),
        handler: (state, handler) => workHere(this, life, state, handler),
        onEvent: (event) => this.monitor.read(`event of ${event.execution}`, JSON.stringify(event)),
      },
    )
    this.program = { life, loop }
    return this.program
  }

  /** Each effect passes here before it happens. */
  async arrive(life: Life, effect: Effect): Promise<void> {
    const at = ++this.monitor.counts.effects
    for (const worker of this.#frozen) if (worker.thawsAt <= at) this.thaw(worker)
    const what = this.plan.outside.get(at)
    if (!what || this.calm || this.program?.life !== life) return
    this.monitor.note(`  outside, before ${effect.name}: ${what}`)
    await this.outside(what, this.program)
  }

  /** The engine is told that the worker ran out of time; the worker itself goes on when it is thawed. */
  async giveUp(worker: Worker): Promise<void> {
    if (worker.frozen) return
    const error = 'AgentTimedOut'
    this.monitor.excuses.add(error)
    this.monitor.counts.late++
    worker.frozen = Promise.withResolvers()
    worker.thawsAt = this.monitor.counts.effects + this.chance.int(2, 80, 'thaws', worker.name)
    this.#frozen.add(worker)
    worker.givenUp.reject(new LoopError(error, `${worker.name} did not answer`))
    await worker.frozen.promise
  }

  thaw(worker: Worker): void {
    this.#frozen.delete(worker)
    this.monitor.note(`  ${worker.name} goes on late`)
    worker.frozen?.resolve()
  }

  works(work: Promise<unknown>): void {
    const over = () => void this.#working.delete(work)
    this.#working.add(work)
    work.then(over, over)
  }

  /** Lets those that were given up come to their end, unless the process is killed over it. */
  async letLateOnesEnd({ life }: Program): Promise<void> {
    for (const worker of this.#frozen) this.thaw(worker)
    await Promise.race([life.died.promise, Promise.allSettled(this.#working)])
  }

  kill(life: Life): Promise<never> {
    this.monitor.counts.kills++
    this.monitor.note(`  ${life.id} is killed`)
    life.killed = true
    life.died.resolve()
    return new Promise(() => {})
  }

  async close(): Promise<void> {
    await this.#wire.close()
    await this.folder.close()
    await this.place.close()
    await rm(this.scratch, { recursive: true, force: true })
  }
}

const requestsOf = ({ settings, ontoBranch }: Plan, { repository, base, heads }: Place): Record<HeadName, RunRequest> => {
  const of = (branch: string, head: string): RunRequest => ({
    repository,
    branch,
    base,
    head,
    overrides: settings,
    attempt: 1,
    publishTo: ontoBranch ? branch : null,
  })
  return { main: of('change', heads.main), newer: of('change', heads.newer), other: of('other', heads.other) }
}
