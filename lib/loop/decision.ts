/** What a person answers while a run is parked. */
import * as z from 'zod'
import { findingDraft } from './finding.ts'

/** Ids of open findings that are not to be raised again on the branch. */
const decline = z.array(z.string()).max(10_000)

export const answer = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('approve'), decline: decline.optional() }),
  z.strictObject({
    kind: z.literal('fix'),
    /** Ids of open findings to fix; with `add`, at least one in all. */
    findings: z.array(z.string()).max(10_000).default([]),
    /** Those no longer block. */
    decline: decline.default([]),
    /** What the fixer should know, for all findings. */
    note: z.string().max(8000).optional(),
    /** What the fixer should know, by finding id. */
    notes: z.record(z.string().min(1), z.string().max(8000)).default({}),
    add: z.array(findingDraft).max(100).default([]),
  }),
  z.strictObject({ kind: z.literal('skip'), decline: decline.optional() }),
  z.strictObject({ kind: z.literal('abort') }),
])
export type Answer = z.infer<typeof answer>

/** Who decides: a name to show to people. */
const by = z.string().min(1).max(200)

/** What a door takes: an answer, and whose it is. */
export const givenAnswer = z.object({ answer, by })

export const decision = z.strictObject({
  /** The question that was answered. */
  question: z.string(),
  /** `expired` is the time-out's own decision: it is a compare-and-set like a person's. */
  answer: z.union([answer, z.strictObject({ kind: z.literal('expired') })]),
  by: by.nullable(),
  at: z.iso.datetime(),
})
export type Decision = z.infer<typeof decision>

/** What a parked run asks. The task token stands beside it in the store and never leaves it. */
export const question = z.strictObject({
  /** Made of the turn it follows, so that Park entered again asks the same question. */
  id: z.string(),
  why: z.enum(['stuck', 'ask-user', 'rounds', 'limit', 'no-change']),
  /** Artifact key of the run's record: all that is open stands there. */
  record: z.string(),
  open: z.int().min(0),
  roundsLeft: z.int().min(0),
  /** The fixer's reason where it changed nothing. */
  reason: z.string().max(4000).nullable(),
  askedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
})
export type Question = z.infer<typeof question>
