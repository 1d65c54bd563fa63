/**
 * The policy of a run: `.reviewloop.yaml` at the tip of the base branch, over the defaults, under what the request overrides.
 * `settings` is what people may write: every key optional and none filled in. `policy` is what the loop works by: every default
 * filled in. The descriptions are what `init` writes into the file and what the JSON schema tells an editor.
 */
import * as z from 'zod'
import { MAX_PARK_DAYS } from '../names.ts'
import { PLACEHOLDERS, unknownPlaceholders } from './commit-message.ts'
import { severity } from './finding.ts'

export const SETTINGS_FILE = '.reviewloop.yaml'
/** Read where there is no file of ours. */
export const NO_MISTAKES_FILE = '.no-mistakes.yaml'

const agentName = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'an agent name: lower-case letters, digits and dashes')
/** One agent, or several in the order in which they are tried. */
const agentOrder = z.union([agentName.transform((name) => [name]), z.array(agentName).min(1).max(10)])
const glob = z.string().max(1000).regex(/^[^!]/, 'a glob without a leading "!"')

const session = {
  reviewer: z.enum(['run', 'turn']).describe('run: the reviewer keeps its session through the run; turn: it starts anew each turn.'),
  fixer: z.enum(['run', 'cycle']).describe('run: the fixer keeps its session through the run; cycle: it starts anew each round.'),
  max_idle: z
    .union([
      z.enum(['auto']),
      z
        .int()
        .min(1)
        .max(7 * 24 * 60),
    ])
    .describe(
      "Minutes after which a session that was not used is not resumed. auto: as long as the agent's provider keeps it in its cache; 60 where nobody can tell.",
    ),
  max_tokens: z.int().min(1000).describe('Input tokens of a session past which it is not resumed.'),
}

const limit = {
  files: z.int().min(1).describe('Changed files.'),
  bytes: z.int().min(1).describe('Bytes of the source snapshot.'),
  depth: z.int().min(1).describe('Commits fetched while looking for the merge base.'),
  diff_bytes: z.int().min(1).describe('Bytes of the diff, a line counting as 32 at least.'),
  tokens: z.int().min(1).describe('Input and output tokens of the run.'),
  dollars: z.number().positive().describe('US dollars that the agents may cost in the run.'),
  minutes: z.int().min(1).describe("Minutes of agents' work in the run."),
  turns: z.int().min(1).describe('Turns of the run, of all roles together.'),
  turn_tokens: z.int().min(1).describe('Input and output tokens of one turn.'),
  turn_dollars: z.number().positive().describe('US dollars that one turn may cost.'),
  turn_calls: z.int().min(1).describe('Calls of the model in one turn.'),
  turn_minutes: z.int().min(1).max(14).describe('Minutes of one turn.'),
  continuations: z.int().min(0).max(20).describe('Times that a turn which stopped at a checkpoint is entered again.'),
}

const role = { reviewer: agentOrder, fixer: agentOrder, certifier: agentOrder }

const key = {
  session_reuse: z.boolean().describe('false: both roles run cold in every turn; nothing is loaded or kept.'),
  rounds: z.int().min(0).max(10).describe('Cap on rounds of fixing, automatic ones and those that a person asks for together.'),
  certify: z
    .enum(['auto', 'always', 'never'])
    .describe('When a reader without a session has the last word: auto: when there are fix commits. With never, fixes are not approved.'),
  ask: z.enum(['always', 'never']).describe('never: nobody is there to ask, so the run ends with changes requested where it would ask.'),
  ask_hours: z
    .int()
    .min(1)
    .max(MAX_PARK_DAYS * 24)
    .describe('Hours that a run waits for an answer.'),
  block_on: z.array(severity).max(3).describe('Severities that stand in the way of approval.'),
  unread: z
    .enum(['block', 'disclose'])
    .describe('What becomes of a changed file that nobody looked at. block: a person is asked; disclose: the report says so.'),
  ignore: z.array(glob).max(500).describe('Globs of paths that are neither reviewed nor fixed, e.g. "**/*.min.js" or "vendor/".'),
  path_instructions: z
    .array(z.strictObject({ path: glob, instructions: z.string().min(1).max(8000) }))
    .max(100)
    .describe('What a reviewer should know about some paths: a list of {path: glob, instructions: text}.'),
  agent: z
    .union([agentOrder.transform((order) => ({ reviewer: order, fixer: order, certifier: order })), z.strictObject(role).partial()])
    .describe('The agent, or a list in the order in which they are tried, or one of the two for each of reviewer, fixer and certifier.'),
  commit_message: z
    .string()
    .min(1)
    .max(2000)
    .refine(
      (text) => unknownPlaceholders(text).length === 0,
      `a text whose placeholders are of ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`,
    )
    .describe(`Message of a fix commit; ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')} are filled in.`),
}

/** What a settings file or a request may say. */
export const settings = z
  .strictObject({
    ...key,
    sessions: z.strictObject(session).partial().describe("How long each role's session lives."),
    limits: z.strictObject(limit).partial().describe('A change or a run over one of these ends with what was done so far.'),
  })
  .partial()
export type Settings = z.infer<typeof settings>

/** A policy with every default filled in. `agent`, or one of its roles, may be absent: then the deployment's default serves. */
export const policy = z.strictObject({
  session_reuse: key.session_reuse.default(true),
  sessions: z
    .strictObject({
      reviewer: session.reviewer.default('run'),
      fixer: session.fixer.default('run'),
      max_idle: session.max_idle.default('auto'),
      max_tokens: session.max_tokens.default(150_000),
    })
    .prefault({}),
  rounds: key.rounds.default(3),
  certify: key.certify.default('auto'),
  ask: key.ask.default('always'),
  ask_hours: key.ask_hours.default(72),
  block_on: key.block_on.default(['error', 'warning']),
  unread: key.unread.default('block'),
  ignore: key.ignore.default([]),
  path_instructions: key.path_instructions.default([]),
  agent: key.agent.optional(),
  limits: z
    .strictObject({
      files: limit.files.default(3000),
      bytes: limit.bytes.default(500_000_000),
      depth: limit.depth.default(10_000),
      diff_bytes: limit.diff_bytes.default(20_000_000),
      tokens: limit.tokens.default(5_000_000),
      dollars: limit.dollars.default(20),
      minutes: limit.minutes.default(120),
      turns: limit.turns.default(100),
      turn_tokens: limit.turn_tokens.default(3_000_000),
      turn_dollars: limit.turn_dollars.default(10),
      turn_calls: limit.turn_calls.default(80),
      turn_minutes: limit.turn_minutes.default(14),
      continuations: limit.continuations.default(5),
    })
    .prefault({}),
  commit_message: key.commit_message.default('Fix {count} review findings\n\n{findings}\n\nReviewloop-Run: {run}'),
})
export type Policy = z.infer<typeof policy>
