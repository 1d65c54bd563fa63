/** The scenario that the scripted agent plays: a YAML file. examples/scenarios/ has one with every key explained. */
import { readFile } from 'node:fs/promises'
import { parseDocument } from 'yaml'
import * as z from 'zod'
import { LoopError } from '../../loop/errors.ts'
import { findingDraft } from '../../loop/finding.ts'
import { account, skippedFile } from '../../loop/output.ts'
import { usage } from '../../loop/record.ts'
import { limitName } from '../../loop/run.ts'
import { TURN_ROLES } from '../../names.ts'

/** `all`, or the rules of the findings that are meant. */
const which = z.union([z.literal('all'), z.array(z.string().min(1))])
const session = z.enum(['lost', 'other'])

const edit = z.union([
  z.strictObject({ write: z.string(), content: z.string() }),
  z.strictObject({ replace: z.string(), before: z.string(), after: z.string() }),
  z.strictObject({ remove: z.string() }),
])

const step = z.strictObject({
  /** Whose turn it has to be; another's fails. */
  role: z.enum(TURN_ROLES).optional(),
  delay_ms: z.int().min(0).default(0),
  /** Ends the process, once a turn: a mark beside the scenario file tells that it did. */
  crash: z.boolean().default(false),
  /** What happens to a session that is resumed: it is lost, or another answers. */
  on_resume: session.optional(),
  /** The same for one that is started. */
  on_start: session.optional(),
  /** Fails so many times in this process, then goes on; without `times`, always. */
  fail: z
    .strictObject({
      error: z.enum(['AgentThrottled', 'AgentOverloaded', 'AgentTimedOut', 'AgentCancelled', 'AgentFailed']),
      reason: z.string().default('as the scenario says'),
      times: z.int().min(1).optional(),
    })
    .optional(),
  refuse: z.string().min(1).optional(),
  limit: limitName.optional(),
  /** Stops at a checkpoint, after its edits; the next turn continues. */
  checkpoint: z.boolean().default(false),
  /** Answers with this instead; `repaired` says whether the request to repair it helps. */
  malformed: z.strictObject({ output: z.unknown(), repaired: z.boolean().default(true) }).optional(),
  edits: z.array(edit).default([]),
  findings: z.array(findingDraft).default([]),
  /** What is said of outstanding findings; what is named nowhere is passed over in silence. */
  accounts: z
    .strictObject({ fixed: which.optional(), withdrawn: which.optional(), open: which.optional(), ids: z.array(account).default([]) })
    .prefault({}),
  skipped: z.array(skippedFile).default([]),
  /** Of the findings given to the fixer, those it says it did not fix; all others it says it fixed. */
  not_fixed: which.default([]),
  note: z.string().min(1).max(2000).optional(),
  summary: z.string().max(4000).default('As the scenario says.'),
  usage: usage.partial().default({}),
})
export type Step = z.infer<typeof step>

const scenario = z.strictObject({
  /** Version of the agent: another does not resume what this one left. */
  version: z.string().min(1).default('1'),
  capabilities: z
    .strictObject({
      resume: z.boolean().default(true),
      ownIds: z.boolean().default(true),
      structuredOutput: z.boolean().default(true),
      checkpoint: z.boolean().default(true),
      edits: z.boolean().default(true),
    })
    .prefault({}),
  /** By the number of the turn in the run, so that the place holds whatever process plays it. */
  turns: z.record(z.string().regex(/^[1-9]\d*$/u, 'the number of a turn'), step).default({}),
  /** Turns that are not named. */
  otherwise: z.strictObject({ reviewer: step.prefault({}), fixer: step.prefault({}), certifier: step.prefault({}) }).prefault({}),
})
export type Scenario = z.infer<typeof scenario>

const bad = (file: string, key: string, problem: string): LoopError =>
  new LoopError('BadSettings', `${file}: ${key ? `${key}: ` : ''}${problem}`, { file, key })

/** A scenario from YAML text. Errors: BadSettings, with file and key. */
export const parseScenario = (text: string, file: string): Scenario => {
  const document = parseDocument(text, { prettyErrors: true })
  const [error] = document.errors
  if (error) throw bad(file, '', error.message.split('\n', 1).join(''))
  const parsed = scenario.safeParse(document.toJS() ?? {})
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw bad(file, issue?.path.map(String).join('.') ?? '', issue?.message ?? 'not valid')
}

/** Reads a scenario file. Errors: BadSettings, with file and key. */
export const readScenario = async (file: string): Promise<Scenario> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw bad(file, '', `cannot be read: ${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'}`)
  })
  return parseScenario(text, file)
}
