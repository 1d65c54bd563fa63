/** Settings of the agent: those of the deployment, never of a repository. They come from the environment. */
import * as z from 'zod'
import { ENV } from '../../names.ts'
import { prices, readSettings } from '../settings.ts'

const settings = z.object({
  model: z.string().min(1).max(256),
  /** Where the Responses API is, without `/responses`. */
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .default('https://api.openai.com/v1'),
  /** null: the model's own. */
  effort: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullable().default(null),
  /** Tokens that the model can be given; a turn plans to stay well below. */
  contextTokens: z.coerce.number<string>().int().min(20_000).default(200_000),
  /** null: dollars are not known. */
  prices: prices.nullable().default(null),
})
export type CodexSettings = z.infer<typeof settings>

const VARIABLES = {
  model: ENV.codexModel,
  baseUrl: ENV.codexBaseUrl,
  effort: ENV.codexEffort,
  contextTokens: ENV.codexContextTokens,
  prices: ENV.codexPrices,
} as const

/** Throws an Error that names each variable that is missing or wrong. */
export const readCodexSettings = (environment: Readonly<Record<string, string | undefined>>): CodexSettings =>
  readSettings(settings, VARIABLES, environment)
