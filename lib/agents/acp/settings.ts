/** Settings of the agent: those of the deployment, never of a repository. They come from the environment. */
import * as z from 'zod'
import { ENV } from '../../names.ts'
import { readSettings } from '../settings.ts'

/** A path below HOME, with forward slashes. */
export const isBelowHome = (path: string): boolean =>
  !/[\0\\]/.test(path) && path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
)

const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'not JSON' })
    return z.NEVER
  }
})

/** Names of variables. Those of reviewloop itself hold what no agent is to see. */
const variable = z.string().regex(/^(?!REVIEWLOOP_)[A-Za-z_][A-Za-z0-9_]*$/)

const settings = z.object({
  /** Program and arguments, as JSON: what starts the agent with its protocol on stdin and stdout. */
  command: json.pipe(z.tuple([z.string().min(1)], z.string())),
  /** Variables that the agent is given besides those that every program needs. */
  environment: list.pipe(z.array(variable)).default([]),
  /** Files and folders below HOME that hold its sessions. With none no session is resumed. */
  state: list.pipe(z.array(z.string().refine(isBelowHome))).default([]),
  /** Files that every turn finds in its HOME, by path: the agent's own settings. */
  files: json.pipe(z.record(z.string().refine(isBelowHome), z.string())).default({}),
  /** The variable in which the agent looks for the key of its provider. */
  key: variable.nullable().default(null),
  /** The login method to ask the agent for, where it wants to be asked. */
  login: z.string().min(1).nullable().default(null),
  /** Tokens that its model can be given; a turn plans to stay well below. */
  contextTokens: z.coerce.number<string>().int().min(20_000).default(200_000),
})
export type AcpSettings = z.infer<typeof settings>

const VARIABLES = {
  command: ENV.acpCommand,
  environment: ENV.acpEnvironment,
  state: ENV.acpState,
  files: ENV.acpFiles,
  key: ENV.acpKey,
  login: ENV.acpLogin,
  contextTokens: ENV.acpContextTokens,
} as const

/** Throws an Error that names each variable that is missing or wrong. */
export const readAcpSettings = (environment: Readonly<Record<string, string | undefined>>): AcpSettings =>
  readSettings(settings, VARIABLES, environment)
