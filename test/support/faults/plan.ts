/** What one seed makes of a world: how much goes wrong in it, what comes from outside, how the agent works, and what people answer. */
import type { Settings } from '../../../lib/loop/policy.ts'
import { Chance } from './chance.ts'

/**
 * What may become of an effect. `transient` and `untyped`: it fails and nothing was done; `lost`: it was done, and its answer is lost;
 * `slow`: minutes go by; `stall`: its worker is given up and goes on later; `kill`: the whole process is gone. `-after`: once it was done.
 */
export type Fault = 'transient' | 'untyped' | 'lost' | 'slow' | 'stall' | 'stall-after' | 'kill' | 'kill-after'

/** What others do meanwhile. */
export type Outside = 'abort' | 'newer' | 'same' | 'resume' | 'lost-execution' | 'interrupt' | 'moved' | 'gone' | 'early-answer'

export type PersonsAnswer = 'approve' | 'fix' | 'add' | 'skip' | 'abort' | 'expire' | 'leave'

export interface Plan {
  /** Real git, or files in memory. */
  git: boolean
  /** Chance that an effect goes wrong, and the weights of how. */
  rate: number
  faults: Partial<Record<Fault, number>>
  /** Chance that a request between the SDK and the table goes wrong. */
  wire: number
  /** Processes that may be killed; and after how many nothing goes wrong any more. */
  kills: number
  processes: number
  /** Effect, counted through the world, before which something comes from outside. */
  outside: ReadonlyMap<number, Outside>
  /** Two starts at once: of the same request, or of two heads of one branch. */
  opening: 'one' | 'twice' | 'two-heads'
  /** A run on another branch: none, before, or at the same time. */
  neighbour: 'none' | 'before' | 'beside'
  settings: Settings
  ontoBranch: boolean
  /** Park waits in the process. */
  waits: boolean
  /** Workers that were given up go on before their process ends. */
  lateBeforeEnd: boolean
  empty: boolean
  defects: number
  agent: AgentPlan
  answers: Partial<Record<PersonsAnswer, number>>
}

export interface AgentPlan {
  resume: boolean
  ownIds: boolean
  trouble: number
  checkpoint: number
  /** Chances that a reviewer overlooks a defect, and that a fixer does nothing, or brings a new one. */
  blind: number
  idle: number
  breaks: number
}

export const planOf = (seed: number, git: boolean): Plan => {
  const chance = new Chance(seed)
  const rate = chance.pick([0, 0.004, 0.01, 0.02, 0.04], 'rate')
  // Whoever is asked at a terminal follows one run there, and no other may wait in the same process.
  const waits = chance.happens(0.1, 'waits')
  const neighbour = chance.weighted({ none: 6, before: 2, beside: waits ? 0 : 2 }, 'neighbour')
  return {
    git,
    rate,
    faults: {
      transient: 10,
      untyped: chance.pick([0, 0, 0.3, 1], 'untyped'),
      lost: 8,
      slow: 4,
      stall: chance.pick([0, 2, 4], 'stall'),
      'stall-after': chance.pick([0, 2, 4], 'stall-after'),
      kill: chance.pick([0, 2, 6], 'kill'),
      'kill-after': chance.pick([0, 2, 6], 'kill-after'),
    },
    wire: chance.pick([0, 0, 0.003, 0.01], 'wire'),
    kills: chance.int(0, 4, 'kills'),
    processes: chance.int(3, 8, 'processes'),
    outside: outsideOf(chance, waits),
    opening: chance.weighted({ one: 8, twice: 1, 'two-heads': waits ? 0 : 1 }, 'opening'),
    neighbour,
    settings: settingsOf(chance),
    ontoBranch: chance.happens(0.25, 'ontoBranch'),
    waits,
    lateBeforeEnd: chance.happens(0.6, 'lateBeforeEnd'),
    empty: chance.happens(0.03, 'empty'),
    defects: chance.pick([0, 1, 2, 2, 3, 4], 'defects'),
    agent: {
      resume: chance.happens(0.9, 'resume'),
      ownIds: chance.happens(0.3, 'ownIds'),
      trouble: chance.pick([0, 0.03, 0.1], 'trouble'),
      checkpoint: chance.pick([0, 0, 0.15, 0.3], 'checkpoint'),
      blind: chance.pick([0, 0, 0.2], 'blind'),
      idle: chance.pick([0, 0.1, 0.4], 'idle'),
      breaks: chance.pick([0, 0.2, 0.5], 'breaks'),
    },
    answers: { approve: 3, fix: 5, add: 2, skip: 2, abort: 1, expire: 1, leave: 1 },
  }
}

const outsideOf = (chance: Chance, waits: boolean): ReadonlyMap<number, Outside> => {
  const weights = {
    abort: 2,
    newer: waits ? 0 : 3,
    same: 2,
    resume: 3,
    'lost-execution': 2,
    interrupt: 4,
    moved: 1,
    gone: 0.5,
    'early-answer': 1,
  }
  const events = chance.pick([0, 0, 1, 1, 2], 'events')
  return new Map(
    Array.from({ length: events }, (_, at) => [
      chance.int(5, chance.pick([60, 200], 'horizon', at), 'when', at),
      chance.weighted<Outside>(weights, 'what', at),
    ]),
  )
}

const settingsOf = (chance: Chance): Settings => ({
  rounds: chance.pick([0, 1, 2, 3, 3], 'rounds'),
  certify: chance.weighted({ auto: 6, always: 2, never: 1 }, 'certify'),
  ask: chance.weighted({ always: 4, never: 1 }, 'ask'),
  ask_hours: chance.pick([1, 72], 'ask_hours'),
  session_reuse: chance.happens(0.9, 'session_reuse'),
  sessions: {
    reviewer: chance.weighted({ run: 6, turn: 1 }, 'reviewer'),
    fixer: chance.weighted({ run: 4, cycle: 1 }, 'fixer'),
    max_idle: chance.pick([30, 7 * 24 * 60], 'max_idle'),
  },
  limits: {
    continuations: chance.pick([0, 2, 5], 'continuations'),
    turn_minutes: chance.pick([5, 14], 'turn_minutes'),
    ...(chance.happens(0.05, 'limited') ? { tokens: 400 } : {}),
  },
})
