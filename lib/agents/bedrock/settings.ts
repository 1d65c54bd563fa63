/** Settings of the agent: those of the deployment, never of a repository. They come from the environment. */
import * as z from 'zod'
import { ENV } from '../../names.ts'

/** US dollars for a million tokens. */
const prices = z
  .string()
  .transform((text) => text.split('/').map(Number))
  .pipe(z.tuple([z.number().min(0), z.number().min(0), z.number().min(0), z.number().min(0)]))
  .transform(([input, output, cacheRead, cacheWrite]) => ({ input, output, cacheRead, cacheWrite }))

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
} as const satisfies Record<keyof BedrockSettings, string>

/** Throws an Error that names each variable that is missing or wrong. */
export const readBedrockSettings = (environment: Readonly<Record<string, string | undefined>>): BedrockSettings => {
  const given = Object.entries(VARIABLES).flatMap(([key, name]) => (environment[name] ? [[key, environment[name]]] : []))
  const parsed = settings.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  const wrong = new Set(parsed.error.issues.map(({ path }) => VARIABLES[path[0] as keyof BedrockSettings]))
  throw new Error([...wrong].map((name) => (environment[name] ? `${name} is not valid` : `${name} is not set`)).join(', '))
}
