/** What happens to runs, as whoever counts and watches is told. Nothing of a change, a finding or a person is in it. */
import type { TurnRecord } from './record.ts'
import type { Verdict } from './run.ts'

export type Happening =
  /** `anew`: the role had a turn before whose session was to be gone on in, and it was not. */
  | { kind: 'turn'; runId: string; record: TurnRecord; anew: boolean }
  | { kind: 'parked'; runId: string }
  /** A run waits no more: it was answered, or nobody did in time. */
  | { kind: 'answered'; runId: string; waitedMs: number }
  | { kind: 'ended'; runId: string; verdict: Verdict; tookMs: number }
  /** How things stand; ms, and 0 where there is no such run. */
  | { kind: 'watched'; atWork: number; waiting: number; longestAtWorkMs: number; longestWaitingMs: number; oldestMs: number }
