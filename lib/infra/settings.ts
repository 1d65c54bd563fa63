/** Deployment settings: one JSON file, named by the CDK context value `settings`. */
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { MAX_PARK_DAYS } from '../names.ts'
import { bedrockSettings } from './bedrock.ts'

const timezone = z.string().refine(isTimezone, 'not a time zone of the IANA database, such as Europe/Berlin')

const schedule = z.strictObject({
  /** As EventBridge Scheduler takes it: `cron(0 3 * * ? *)` or `rate(1 day)`. */
  expression: z
    .string()
    .regex(/^(cron\(\S+( \S+){5}\)|rate\([1-9]\d* (minutes?|hours?|days?)\))$/, 'expected cron(six fields) or rate(n minutes|hours|days)'),
  timezone: timezone.default('UTC'),
  /** Branch that is reviewed against the default branch at these times: the default branch against itself is no change. */
  branch: z.string().min(1).max(255),
})

const secretArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/, 'expected the full ARN of a secret')

const repository = z
  .strictObject({
    /** https, without a credential in it. */
    url: z
      .url({ protocol: /^https$/ })
      .refine((url) => !hasCredential(url), 'a credential does not belong into a URL; name a secret in gitTokenSecret'),
    defaultBranch: z.string().min(1).max(255),
    /** Absent: no review starts by itself. */
    schedule: schedule.optional(),
  })
  .refine(({ defaultBranch, schedule: nightly }) => nightly?.branch !== defaultBranch, {
    path: ['schedule', 'branch'],
    message: 'the default branch against itself is no change: name another branch',
  })

const settings = z
  .strictObject({
    /** Suffix of the names of everything that is deployed. */
    stage: z.string().regex(/^[a-z][a-z0-9-]{0,19}$/, 'lower-case letters, digits and dashes, at most 20'),
    /** Whether tables and bucket outlive the stack and refuse to be deleted; absent: where the stage is `prod`. */
    protect: z.boolean().optional(),
    repositories: z.array(repository).min(1),
    /** Agents in the order in which they are tried, where a repository's own settings name none. */
    agents: z
      .array(z.string().regex(/^[a-z][a-z0-9-]*$/))
      .min(1)
      .default(['lint']),
    /** Settings of the agent `bedrock`; absent: no function may call a model. */
    bedrock: bedrockSettings.optional(),
    /** Full ARN, with its six random characters, of the secret that holds the git token; absent: public repositories only. */
    gitTokenSecret: secretArn.optional(),
    /** The GitHub App by which repositories of GitHub are told how runs stand and are pushed to; absent: they are told nothing. */
    github: z
      .strictObject({
        appId: z.int().min(1),
        /** Full ARN of the secret that holds the App's private key, as GitHub gives it out (PEM). Publish alone may read it. */
        keySecret: secretArn,
      })
      .optional(),
    retention: z
      .strictObject({
        /** Days that sources, transcripts and unfinished work are kept at most. Longer than a run may be parked. */
        workDays: z
          .int()
          .min(MAX_PARK_DAYS + 6)
          .default(90),
        /** Days that records, changesets, decisions and reports are kept. */
        recordDays: z
          .int()
          .min(MAX_PARK_DAYS + 6)
          .default(400),
        logDays: z.literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 731]).default(90),
      })
      .prefault({}),
  })
  .refine(({ agents, bedrock }) => bedrock !== undefined || !agents.includes('bedrock'), {
    path: ['bedrock'],
    message: 'the agent bedrock is named: give its settings, the model at least',
  })
export type Settings = z.infer<typeof settings>

/** Checks settings given as a value. Throws an Error that names every wrong key; `source` says where they came from. */
export const parseSettings = (value: unknown, source: string): Settings => {
  const parsed = settings.safeParse(value)
  if (!parsed.success) throw new Error(`Deployment settings ${source} are not valid:\n${z.prettifyError(parsed.error)}`)
  const urls = parsed.data.repositories.map((entry) => entry.url)
  const twice = urls.find((url, index) => urls.indexOf(url) !== index)
  if (twice) throw new Error(`Deployment settings ${source} are not valid: ${twice} is listed twice`)
  return parsed.data
}

/** Reads and checks the file. Throws an Error that names the file and what is wrong with it. */
export const readSettings = (file: string): Settings => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Error(`Deployment settings ${file} cannot be read: name a file with --context settings=FILE`, { cause })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error(`Deployment settings ${file} are not JSON`, { cause })
  }
  return parseSettings(value, file)
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function hasCredential(url: string): boolean {
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}
