/** GitHub's published description of its API: which operation a request is, and whether request and answer are what it says. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { cacheFolder, installOnce } from '../package-cache.ts'

type Json = Record<string, unknown>

interface Operation {
  parameters?: Json[]
  requestBody?: { required?: boolean; content: { 'application/json': { schema: Json } } }
  responses: Record<string, { content?: { 'application/json'?: { schema: Json; examples?: Record<string, Json> } } }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, Json>>
}

/** One file of a package of 385 MB, which nobody is to install for anything else. */
const documentOf = async (): Promise<Document> => {
  const source = fileURLToPath(new URL('openapi', import.meta.url))
  const folder = cacheFolder(source, 'github-description')
  const generated = 'node_modules/@octokit/openapi/generated'
  const one = `npm ci --ignore-scripts && find ${generated} -type f ! -name api.github.com.json -delete`
  await installOnce({ source, folder, says: "fetching GitHub's description of its API: some 30 MB, once", command: ['sh', '-c', one] })
  return JSON.parse(await readFile(join(folder, generated, 'api.github.com.json'), 'utf8')) as Document
}
const document = await documentOf()

const at = (ref: string): Json => {
  const [, , kind = '', name = ''] = ref.split('/')
  const found = document.components[kind]?.[name]
  if (!found) throw new Error(`the description has no ${ref}`)
  return found
}
const resolved = <T>(value: T): T => {
  const ref = (value as Json | undefined)?.['$ref']
  return typeof ref === 'string' ? (at(ref) as T) : value
}

/** Parts of the description that a schema leads to, so that only these are compiled. */
const reachable = (schema: unknown, found: Map<string, Json> = new Map()): Map<string, Json> => {
  if (Array.isArray(schema)) for (const entry of schema) reachable(entry, found)
  else if (schema && typeof schema === 'object')
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'example' || key === 'examples') continue
      if (key === '$ref' && typeof value === 'string') {
        const name = value.split('/').at(-1) ?? ''
        if (found.has(name)) continue
        found.set(name, at(value))
        reachable(at(value), found)
      } else reachable(value, found)
    }
  return found
}

/** The words of OpenAPI 3.0 in those of JSON schema: what may be null says so by `nullable`, and examples prove nothing. */
const asJsonSchema = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(asJsonSchema)
  if (!schema || typeof schema !== 'object') return schema
  const { nullable, example: _example, examples: _examples, discriminator: _discriminator, ...rest } = schema as Json
  const plain = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, asJsonSchema(value)]))
  return nullable === true ? { anyOf: [{ type: 'null' }, plain] } : plain
}

const compiled = new Map<string, ValidateFunction>()
const validator = (key: string, schema: Json): ValidateFunction => {
  const known = compiled.get(key)
  if (known) return known
  const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false, validateSchema: false, logger: false })
  addFormats.default(ajv)
  const components = { schemas: Object.fromEntries(reachable(schema)) }
  const made = ajv.compile(asJsonSchema({ ...schema, components }) as Json)
  compiled.set(key, made)
  return made
}

const complaints = (what: string, validate: ValidateFunction, value: unknown): string[] =>
  validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${what}${instancePath}: ${message}`)

export interface Matched {
  /** Method and path as the description writes them. */
  route: string
  operation: Operation
  path: Record<string, string>
}

const pattern = (path: string): RegExp => new RegExp(`^${path.replace(/\{([^}]+)\}/g, '(?<$1>[^/]+)')}$`)

/** The operations that a mock knows, by route; a request for any other is a fault of the caller. */
export const operations = (routes: readonly string[]): ((method: string, path: string) => Matched | null) => {
  const known = routes.map((route) => {
    const [method = '', path = ''] = route.split(' ')
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (!operation) throw new Error(`the description has no ${route}`)
    return { route, method, operation, expression: pattern(path) }
  })
  return (method, path) => {
    for (const { route, method: of, operation, expression } of known) {
      const match = of === method ? expression.exec(path) : null
      if (match) {
        const parts = Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)])
        return { route, operation, path: Object.fromEntries(parts) as Record<string, string> }
      }
    }
    return null
  }
}

/** A value of a path or a query as its schema sees it. */
const typed = (value: string, { type }: Json): unknown =>
  type === 'integer' ? Number(value) : type === 'boolean' ? value === 'true' : value

/** What of a request the description does not allow. A key that it does not name is none that GitHub reads. */
export const requestComplaints = ({ route, operation, path }: Matched, query: Record<string, string>, body: unknown): string[] => {
  const parameters = (operation.parameters ?? []).map(resolved) as { name: string; in: string; required?: boolean; schema: Json }[]
  const said: string[] = []
  for (const { name, in: where, required, schema } of parameters) {
    const value = where === 'path' ? path[name] : where === 'query' ? query[name] : undefined
    if (value === undefined) {
      if (required && where !== 'header') said.push(`${where} ${name}: missing`)
    } else
      said.push(...complaints(`${where} ${name}`, validator(`${route} ${where} ${name}`, resolved(schema)), typed(value, resolved(schema))))
  }
  const names = new Set(parameters.filter(({ in: where }) => where === 'query').map(({ name }) => name))
  said.push(...Object.keys(query).flatMap((name) => (names.has(name) ? [] : [`query ${name}: unknown`])))
  const schema = operation.requestBody && resolved(operation.requestBody.content['application/json'].schema)
  if (!schema) return body === undefined ? said : [...said, 'body: none is taken']
  if (body === undefined) return operation.requestBody?.required ? [...said, 'body: missing'] : said
  const keys = new Set(Object.keys(schema['properties'] ?? {}))
  said.push(...Object.keys(body as Json).flatMap((key) => (keys.has(key) ? [] : [`body/${key}: unknown`])))
  return [...said, ...complaints('body', validator(`${route} body`, schema), body)]
}

/** What of an answer the description does not allow; a status that it does not name is let through where `any`. */
export const answerComplaints = ({ route, operation }: Matched, status: number, body: unknown): string[] => {
  const answer = operation.responses[String(status)]
  if (!answer) return status >= 400 ? [] : [`status ${status}: unknown`]
  const schema = resolved(answer).content?.['application/json']?.schema
  return schema ? complaints(`answer ${status}`, validator(`${route} ${status}`, schema), body) : []
}

/** The description's own example of an object, to be filled in. */
export const exampleOf = (name: string): Json => structuredClone(at(`#/components/examples/${name}`)['value'] as Json)
