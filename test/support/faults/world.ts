/** The world of one seed: its data folder, its repository, its clock, and the processes that come and go over them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { ownDataFolder, type DataFolder } from '../../../lib/local/data-folder.ts'
import { openLoop, type LocalLoop } from '../../../lib/local/local-loop.ts'
import type { Ports } from '../../../lib/loop/ports.ts'
import type { RunRequest } from '../../../lib/loop/run.ts'
import { runIdOf } from '../../../lib/loop/run-id.ts'
import { socketClient } from '../../../lib/stores/dynamodb/client.ts'
import { Chance } from './chance.ts'
import type { Life, Worker } from './effect.ts'
import { Monitor } from './monitor.ts'
import { gitPlace, HEADS, memoryPlace, requestsOf, type HeadName, type Place } from './place.ts'
import { planOf, type Outside, type Plan } from './plan.ts'
import { faultyPorts } from './ports.ts'
import { workHere } from './handlers.ts'
import { Staff } from './staff.ts'
import { Turnstile } from './turnstile.ts'
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
  readonly staff = new Staff((text) => this.monitor.note(text))
  readonly turnstile: Turnstile
  readonly requests: Record<HeadName, RunRequest>
  /** ms since 1970 */
  clock = T0
  /** Nothing goes wrong any more. */
  calm = false
  /** What comes from outside; set by whoever plays the outside. */
  outside: (what: Outside) => Promise<void> = async () => {}
  program: Program | null = null
  /** Reaches the table past every fault. */
  readonly client: DynamoDBClient
  readonly #wire: Wire
  readonly #mutant: Mutant
  readonly #counts = new Map<string, number>()
  /** Effect until which others may be about to come. */
  #crowdedUntil = 0
  readonly #tags: ReadonlyMap<string, HeadName>
  #nonces = 0
  #lives = 0

  private constructor(base: { chance: Chance; plan: Plan; place: Place; folder: DataFolder; scratch: string; wire: Wire; mutant: Mutant }) {
    this.chance = base.chance
    this.plan = base.plan
    this.place = base.place
    this.folder = base.folder
    this.scratch = base.scratch
    this.client = socketClient(base.folder.socket)
    this.#wire = base.wire
    this.#mutant = base.mutant
    this.turnstile = new Turnstile(base.chance, () => this.#crowded())
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
      turn: () => (opened.world?.program && !opened.world.calm ? opened.world.turnstile.turn : null),
      rate: plan.wire,
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
    this.staff.clear()
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

  /** Looks at the world, or changes it, past every fault. */
  aside<T>(act: () => Promise<T>): Promise<T> {
    return this.turnstile.run('aside', true, act)
  }

  /** Each effect passes here before it happens. Gives what comes from outside before it. */
  arrive(life: Life, worker: Worker | null): Outside | null {
    const at = ++this.monitor.counts.effects
    // Whoever acts from outside starts and stops executions, which then have their first effects.
    if (!worker || this.staff.busy > 1) this.#crowdedUntil = at + 4
    this.staff.thaw(at)
    const what = this.plan.outside.get(at)
    return what && !this.calm && this.program?.life === life ? what : null
  }

  #crowded(): boolean {
    const { busy } = this.staff
    return busy > 1 || (busy > 0 && this.plan.neighbour === 'beside') || this.monitor.counts.effects <= this.#crowdedUntil
  }

  async giveUp(worker: Worker): Promise<void> {
    if (worker.frozen) return
    this.monitor.excuses.add('AgentTimedOut')
    this.monitor.counts.late++
    await this.staff.giveUp(worker, this.monitor.counts.effects + this.chance.int(2, 80, 'thaws', worker.name))
  }

  kill(life: Life): void {
    this.monitor.counts.kills++
    this.monitor.note(`  ${life.id} is killed`)
    life.killed = true
    life.died.resolve()
  }

  async close(): Promise<void> {
    this.client.destroy()
    await this.#wire.close()
    await this.folder.close()
    await this.place.close()
    await rm(this.scratch, { recursive: true, force: true })
  }
}
