/**
 * Deliberate faults in the code, made where the use cases meet their ports: each is what a clause left out would come to. With `says`, what
 * the suite says of it, and the plan of a world in which it shows soon.
 */
import type { ItemStore, Ports } from '../../../lib/loop/ports.ts'
import type { SessionRecord } from '../../../lib/loop/items.ts'
import type { Role } from '../../../lib/names.ts'
import type { Plan } from './plan.ts'
import type { Mutant, World } from './world.ts'

interface Fault {
  mutant: Mutant
  plan?: Partial<Plan>
  says: RegExp
}

const sessions = (change: (store: Ports['sessions']) => Partial<Ports['sessions']>): Mutant => {
  return (ports) => ({ ...ports, sessions: { ...ports.sessions, ...change(ports.sessions) } })
}
const runItems = (change: (store: Ports['runs']['runs']) => Partial<Ports['runs']['runs']>): Mutant => {
  return (ports) => ({ ...ports, runs: { ...ports.runs, runs: { ...ports.runs.runs, ...change(ports.runs.runs) } } })
}
const artifacts = (change: (store: Ports['artifacts']) => Partial<Ports['artifacts']>): Mutant => {
  return (ports) => ({ ...ports, artifacts: { ...ports.artifacts, ...change(ports.artifacts) } })
}

/** Writes over whatever there is. */
const overwriting = <Key, Item extends { rev: number }>(store: ItemStore<Key, Item>): ItemStore<Key, Item>['write'] => {
  return async (key, item) => (await store.write(key, item)) || store.write(key, { ...item, rev: ((await store.read(key))?.rev ?? 0) + 1 })
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** A role's item with the session that `choose` gives it, of all that were ever stored in the world, transcripts and all. */
const attaching = (
  choose: (wanted: { runId: string; role: string }, known: ReadonlyMap<string, SessionRecord>) => SessionRecord | null | undefined,
): Mutant => {
  const memories = new WeakMap<World, { known: Map<string, SessionRecord>; objects: Map<string, Uint8Array> }>()
  return (ports, world) => {
    const memory = memories.get(world) ?? { known: new Map<string, SessionRecord>(), objects: new Map<string, Uint8Array>() }
    memories.set(world, memory)
    const { known, objects } = memory
    return {
      ...ports,
      artifacts: {
        ...ports.artifacts,
        put: (key, bytes) => {
          objects.set(key, bytes)
          return ports.artifacts.put(key, bytes)
        },
        get: async (key) => (await ports.artifacts.get(key)) ?? objects.get(key) ?? null,
      },
      sessions: {
        write: (key, item) => {
          if (item.session) known.set(`${key.runId}#${key.role}`, item.session)
          return ports.sessions.write(key, item)
        },
        read: async (key) => {
          const item = await ports.sessions.read(key)
          const session = item && !item.closed && key.role !== 'certifier' ? choose(key, known) : null
          return item && session ? { ...item, session: { ...session, role: key.role as Role } } : item
        },
      },
    }
  }
}

const quiet: Partial<Plan> = { rate: 0, wire: 0, outside: new Map(), empty: false, defects: 3, opening: 'one' }
const steady = { resume: true, ownIds: false, trouble: 0, checkpoint: 0, blind: 0, idle: 0, breaks: 0.5 }
const lasting: Partial<Plan> = { ...quiet, agent: steady, settings: { rounds: 3, session_reuse: true, ask: 'never' } }
const stalling: Partial<Plan> = { rate: 0.05, faults: { stall: 4, 'stall-after': 4, lost: 1 }, lateBeforeEnd: true }

export const MUTANTS = {
  'the store compares nothing': {
    mutant: sessions((store) => ({ write: overwriting(store) })),
    plan: stalling,
    says: /the result of turn \d+ .* changed|the fence of .* went back|the tombstone .* was written again/,
  },
  'a finished turn is forgotten': {
    mutant: sessions((store) => ({ read: async (key) => ((item) => item && { ...item, done: null })(await store.read(key)) })),
    plan: { ...stalling, kills: 0 },
    says: /the result of turn \d+ .* changed/,
  },
  'a run ends and its branch stays locked': {
    mutant: (ports) => ({
      ...ports,
      runs: {
        ...ports.runs,
        branches: { ...ports.runs.branches, write: async (key, item) => item.active === null || ports.runs.branches.write(key, item) },
      },
    }),
    plan: quiet,
    says: /a branch is locked by/,
  },
  'transcripts are kept': {
    mutant: artifacts((store) => ({
      deleteAll: async (prefix) => (prefix.startsWith('transcripts/') ? undefined : store.deleteAll(prefix)),
    })),
    plan: lasting,
    says: /transcripts\/.* is left of the ended run/,
  },
  'a tombstone keeps its session': {
    mutant: sessions((store) => ({
      write: async (key, item) => store.write(key, item.closed ? { ...item, session: (await store.read(key))?.session ?? null } : item),
    })),
    plan: lasting,
    says: /is no tombstone/,
  },
  'the fixer resumes the session of the reviewer': {
    mutant: attaching(({ runId, role }, known) => (role === 'fixer' ? known.get(`${runId}#reviewer`) : null)),
    plan: lasting,
    says: /was given the session of the reviewer/,
  },
  'a run resumes the session of another run': {
    mutant: attaching(
      ({ runId, role }, known) => [...known].find(([key]) => key.endsWith(`#${role}`) && !key.startsWith(runId))?.[1] ?? null,
    ),
    plan: { ...lasting, neighbour: 'before' },
    says: /the transcript of .* holds CANARY/,
  },
  'the record tells what was said': {
    mutant: (ports) => {
      let said = ''
      return artifacts((store) => ({
        put: (key, bytes) => {
          if (key.startsWith('transcripts/')) said = decode(bytes)
          const isRecord = key.startsWith('records/')
          const record = isRecord ? (JSON.parse(decode(bytes)) as { notices: string[] }) : null
          return store.put(key, record ? encode({ ...record, notices: [...record.notices, said] }) : bytes)
        },
      }))(ports, undefined as never)
    },
    plan: lasting,
    says: /report\.json holds CANARY/,
  },
  'the log names sessions': {
    mutant: (ports) => ({
      ...ports,
      sessions: {
        ...ports.sessions,
        write: (key, item) => {
          ports.effects.log('info', 'the session is stored', { id: item.session?.id })
          return ports.sessions.write(key, item)
        },
      },
    }),
    plan: lasting,
    says: /log of .* holds the session id/,
  },
  'another commit is pushed than was recorded': {
    mutant: (ports) => ({
      ...ports,
      forge: {
        ...ports.forge,
        publish: (request) => ports.forge.publish({ ...request, commit: request.changeset.commits[0]?.id.replace(/^./, 'e') ?? '' }),
      },
    }),
    plan: lasting,
    says: /was pushed to .*, and recorded for pushing is/,
  },
  'it is pushed to two branches': {
    mutant: (ports) => ({
      ...ports,
      forge: {
        ...ports.forge,
        publish: async (request) => {
          await ports.forge.publish({ ...request, target: `${request.target}-again` })
          return ports.forge.publish(request)
        },
      },
    }),
    plan: lasting,
    says: /published twice/,
  },
  'what nobody certified is approved': {
    mutant: runItems((store) => ({
      write: (key, item) =>
        store.write(
          key,
          item.status === 'ended' && item.verdict?.outcome === 'changes-requested'
            ? { ...item, verdict: { ...item.verdict, outcome: 'approved', reason: 'certified' } }
            : item,
        ),
    })),
    plan: { ...lasting, settings: { rounds: 3, certify: 'never', ask: 'never' } },
    says: /was approved without a certificate/,
  },
  'an answer is not seen': {
    mutant: runItems((store) => ({ read: async (key) => ((item) => item && { ...item, decision: null })(await store.read(key)) })),
    plan: { ...quiet, agent: { ...steady, idle: 1 }, settings: { rounds: 2, ask: 'always' }, answers: { skip: 1 }, processes: 1 },
    says: /the decision of .* changed|come to no rest/,
  },
} satisfies Record<string, Fault>

export type MutantName = keyof typeof MUTANTS
export const mutantOf = (name: string): Fault => {
  if (!Object.hasOwn(MUTANTS, name)) throw new Error(`There is no fault called ${JSON.stringify(name)}.`)
  return MUTANTS[name as MutantName]
}
