/** Settings of the agent: those of the deployment, never of a repository. They come from the environment. */
import * as z from 'zod'
import { ENV } from '../../names.ts'
import { prices, readSettings } from '../settings.ts'

const count = z.coerce.number<string>().int()

const settings = z.object({
  model: z.string().min(1).max(2048),
  /** null: that of the surroundings, as the SDK finds it. */
  region: z.string().min(1).nullable().default(null),
  /** null: the model's own. */
  effort: z.string().min(1).nullable().default(null),
  /** Tokens of one reply. */
  maxTokens: count.min(1000).default(16_000),
  /** Tokens that the model can be given; a turn plans to stay well below. */
  contextTokens: count.min(20_000).default(200_000),
  cache: z.enum(['5m', '1h', 'off']).default('5m'),
  strict: z
    .enum(['on', 'off'])
    .default('on')
    .transform((value) => value === 'on'),
  /** null: dollars are not known. */
  prices: prices.nullable().default(null),
})
export type BedrockSettings = z.infer<typeof settings>

const VARIABLES = {
  model: ENV.bedrockModel,
  region: ENV.bedrockRegion,
  effort: ENV.bedrockEffort,
  maxTokens: ENV.bedrockMaxTokens,
  contextTokens: ENV.bedrockContextTokens,
  cache: ENV.bedrockCache,
  strict: ENV.bedrockStrict,
  prices: ENV.bedrockPrices,
} as const

/** Throws an Error that names each variable that is missing or wrong. */
export const readBedrockSettings = (environment: Readonly<Record<string, string | undefined>>): BedrockSettings =>
  readSettings(settings, VARIABLES, environment)
