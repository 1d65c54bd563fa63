/** What a schedule is made of, drawn from its seed: how much goes wrong in it, and what the run's policy is. */
import type { Settings } from '../../../lib/loop/policy.ts'
import type { Random } from './random.ts'

export interface Profile {
  /** Chances, a step, that what is chosen goes wrong, and that its worker is held up for long. */
  fault: number
  stall: number
  /** Chance, a step, that something comes from outside, and the weights of what. */
  outside: number
  weights: Record<Outside, number>
  /** Heads that are pushed one right after the other at the beginning, each with a start of its own. */
  heads: number
  /** Steps until only fair things happen. */
  steps: number
  /** One process that may be killed as a whole, and whose leases the next one knows to be over; null in AWS. */
  embedded: boolean
  settings: Settings
  /** Where fixes are pushed: a branch of the run's own, or the branch under review. */
  ontoBranch: boolean
  agent: AgentProfile
}

export const OUTSIDE = [
  'resume',
  'abort',
  'same',
  'newer',
  'decide',
  'decide-twice',
  'twin',
  'again',
  'stop',
  'lost',
  'kill-process',
  'jump',
  'expire',
  'damage',
] as const
export type Outside = (typeof OUTSIDE)[number]

export interface AgentProfile {
  /** Chance that a look finds nothing, and that a fixer changes nothing. */
  clean: number
  idle: number
  /** Chance that a call ends otherwise than well. */
  trouble: number
  checkpoint: number
}

/** Weights of the rarer things: most schedules have none of them, some have a lot of one. */
const weightsOf = (random: Random, embedded: boolean): Record<Outside, number> => {
  const often = (chance: number, weight: number): number => (random.chance(chance) ? weight : 0)
  return {
    resume: often(0.7, 4),
    abort: often(0.2, 1),
    same: often(0.3, 1),
    newer: often(0.2, 1),
    decide: often(0.8, 4),
    'decide-twice': often(0.3, 2),
    twin: often(0.5, 3),
    again: often(0.4, 2),
    stop: often(0.2, 1),
    lost: often(0.15, 1),
    'kill-process': embedded ? often(0.6, 2) : 0,
    jump: often(0.5, 2),
    expire: often(0.1, 2),
    damage: often(0.15, 1),
  }
}

export const profileFrom = (random: Random): Profile => {
  const embedded = random.chance(0.25)
  return {
    fault: random.pick([0, 0.005, 0.01, 0.02, 0.05, 0.1]),
    stall: random.pick([0, 0.01, 0.03, 0.06]),
    outside: random.pick([0, 0.01, 0.03, 0.06]),
    weights: weightsOf(random, embedded),
    heads: Number(random.weighted({ 1: 14, 2: 4, 3: 2 })),
    steps: random.int(60, 500),
    embedded,
    settings: settingsFrom(random),
    ontoBranch: random.chance(0.3),
    agent: {
      clean: random.pick([0.1, 0.2, 0.5]),
      idle: random.pick([0, 0.1, 0.4]),
      trouble: random.pick([0, 0.05, 0.1]),
      checkpoint: random.pick([0, 0, 0.1, 0.3]),
    },
  }
}

const settingsFrom = (random: Random): Settings => ({
  rounds: random.pick([0, 1, 2, 3, 3, 3]),
  certify: random.weighted({ auto: 6, always: 2, never: 1 }),
  ask: random.weighted({ always: 5, never: 1 }),
  ask_hours: random.pick([1, 24, 72, 24 * 24]),
  session_reuse: random.chance(0.9),
  sessions: {
    reviewer: random.weighted({ run: 6, turn: 1 }),
    fixer: random.weighted({ run: 4, cycle: 1 }),
    max_idle: random.pick([60, 7 * 24 * 60]),
  },
  limits: { continuations: random.pick([0, 1, 3]), turn_minutes: random.pick([5, 14]) },
})
