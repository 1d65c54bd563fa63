/** Settings of the agent: those of the deployment, never of a repository. They come from the environment. */
import * as z from 'zod'
import { ENV } from '../../names.ts'

/** US dollars for a million tokens. */
const prices = z
  .string()
  .transform((text) => text.split('/').map(Number))
  .pipe(z.tuple([z.number().min(0), z.number().min(0), z.number().min(0), z.number().min(0)]))
  .transform(([input, output, cacheRead, cacheWrite]) => ({ input, output, cacheRead, cacheWrite }))

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
} as const satisfies Record<keyof CodexSettings, string>

/** Throws an Error that names each variable that is missing or wrong. */
export const readCodexSettings = (environment: Readonly<Record<string, string | undefined>>): CodexSettings => {
  const given = Object.entries(VARIABLES).flatMap(([key, name]) => (environment[name] ? [[key, environment[name]]] : []))
  const parsed = settings.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  const wrong = new Set(parsed.error.issues.map(({ path }) => VARIABLES[path[0] as keyof CodexSettings]))
  throw new Error([...wrong].map((name) => (environment[name] ? `${name} is not valid` : `${name} is not set`)).join(', '))
}
