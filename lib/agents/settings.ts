/** Settings of an agent: those of the deployment, never of a repository. They come from the environment. */
import * as z from 'zod'

/** US dollars for a million tokens, as `input/output/cache read/cache write`. */
export const prices = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:\/\d+(?:\.\d+)?){3}$/)
  .transform((text) => {
    const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = text.split('/').map(Number)
    return { input, output, cacheRead, cacheWrite }
  })

/** Reads each setting from its variable; an empty one is not set. Throws an Error that names each variable that is missing or wrong. */
export const readSettings = <Schema extends z.ZodObject>(
  schema: Schema,
  variables: Readonly<Record<keyof z.output<Schema> & string, string>>,
  environment: Readonly<Record<string, string | undefined>>,
): z.output<Schema> => {
  const names: Readonly<Record<string, string>> = variables
  const given = Object.entries(names).flatMap(([key, name]) => (environment[name] ? [[key, environment[name]]] : []))
  const parsed = schema.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  const wrong = new Set(parsed.error.issues.map(({ path }) => names[String(path[0])] ?? ''))
  throw new Error([...wrong].map((name) => (environment[name] ? `${name} is not valid` : `${name} is not set`)).join(', '))
}
