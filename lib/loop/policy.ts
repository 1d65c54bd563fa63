/** The policy of a run: `.reviewloop.yaml` at the tip of the base branch, over the defaults, under what the request overrides. */
import * as z from 'zod'
import { severity } from './finding.ts'

export const SETTINGS_FILE = '.reviewloop.yaml'

const agentName = z.string().regex(/^[a-z][a-z0-9-]*$/, 'an agent name: lower-case letters, digits, dashes')
/** One agent, or several in the order in which they are tried. */
const agentOrder = z.union([agentName.transform((name) => [name]), z.array(agentName).min(1)])

export const policy = z.strictObject({
  /** false runs both roles cold: nothing loaded, nothing stored beyond a turn's checkpoints. */
  session_reuse: z.boolean().default(true),
  sessions: z
    .strictObject({
      reviewer: z.enum(['run', 'turn']).default('run'),
      fixer: z.enum(['run', 'cycle']).default('run'),
      /** Minutes after which a stored session is not resumed. */
      max_idle: z
        .int()
        .min(1)
        .max(7 * 24 * 60)
        .default(60),
      /** Input tokens of a session past which it is not resumed. */
      max_tokens: z.int().min(1000).default(150_000),
    })
    .prefault({}),
  /** Cap on fix rounds, automatic and human together. */
  rounds: z.int().min(0).max(10).default(3),
  certify: z.enum(['auto', 'always', 'never']).default('auto'),
  /** never: nobody is there to ask, so Park is Publish (changes requested). */
  ask: z.enum(['always', 'never']).default('always'),
  /** Hours a parked run waits for a person; at most 24 days. */
  ask_hours: z
    .int()
    .min(1)
    .max(24 * 24)
    .default(72),
  block_on: z.array(severity).default(['error', 'warning']),
  /** What becomes of a changed file that no reviewer looked at: block (a person has to answer) or disclose. */
  unread: z.enum(['block', 'disclose']).default('block'),
  /** Globs of paths that are neither reviewed nor fixed. */
  ignore: z.array(z.string().min(1)).default([]),
  path_instructions: z.array(z.strictObject({ path: z.string().min(1), instructions: z.string().min(1).max(8000) })).default([]),
  agent: z
    .union([
      agentOrder.transform((order) => ({ reviewer: order, fixer: order, certifier: order })),
      z.strictObject({ reviewer: agentOrder, fixer: agentOrder, certifier: agentOrder }),
    ])
    .optional(),
  limits: z
    .strictObject({
      /** Changed files. */
      files: z.int().min(1).default(3000),
      /** Bytes of the source snapshot. */
      bytes: z.int().min(1).default(500_000_000),
      /** Commits fetched while looking for the merge base. */
      depth: z.int().min(1).default(10_000),
      /** Bytes of the diff. */
      diff_bytes: z.int().min(1).default(20_000_000),
      /** Input and output tokens of the run. */
      tokens: z.int().min(1).default(5_000_000),
      dollars: z.number().positive().default(20),
      /** Minutes of agents' work in the run. */
      minutes: z.int().min(1).default(120),
      turn_minutes: z.int().min(1).max(14).default(14),
      /** Times a turn that stopped at a checkpoint is entered again. */
      continuations: z.int().min(0).max(20).default(5),
    })
    .prefault({}),
  /** `{summary}`, `{count}`, `{round}`, `{run}` and `{findings}` are filled in. */
  commit_message: z.string().min(1).max(2000).default('Fix {count} review findings\n\n{findings}\n\nReviewloop-Run: {run}'),
})
/** A policy with every default filled in. `agent` may be absent: then the deployment's default serves. */
export type Policy = z.infer<typeof policy>
