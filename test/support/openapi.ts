/** Holds requests and answers to the API's description, docs/openapi.json. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import description from '../../docs/openapi.json' with { type: 'json' }
import type { ApiRoute } from '../../lib/names.ts'

interface Operation {
  responses: Record<string, { content?: Record<string, unknown>; headers?: unknown }>
  requestBody?: unknown
}

const ROOT = 'https://reviewloop.example/openapi.json'

const makeChecker = () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema(description, ROOT)
  const validators = new Map<string, ValidateFunction>()
  const validate = (pointer: string, value: unknown): void => {
    const check = validators.get(pointer) ?? ajv.compile({ $ref: `${ROOT}#${pointer}` })
    validators.set(pointer, check)
    if (!check(value)) throw new Error(`not as the description says at ${pointer}: ${ajv.errorsText(check.errors)}`)
  }
  const operationOf = (route: ApiRoute): { operation: Operation; pointer: string } => {
    const [method = '', path = ''] = route.split(' ')
    const operation = (description.paths as unknown as Record<string, Record<string, Operation>>)[path]?.[method.toLowerCase()]
    if (!operation) throw new Error(`the description has no ${route}`)
    return {
      operation,
      pointer: `/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${method.toLowerCase()}`,
    }
  }
  return {
    answer: (route: ApiRoute, { status, contentType, text }: { status: number; contentType: string; text: string }): void => {
      const { operation, pointer } = operationOf(route)
      const response = operation.responses[String(status)]
      if (!response) throw new Error(`${route} answered ${status}, which the description does not know: ${text.slice(0, 300)}`)
      if (!response.content) return
      if (!response.content[contentType]) throw new Error(`${route} answered ${contentType}, which the description does not know`)
      if (!contentType.endsWith('json')) return
      validate(`${pointer}/responses/${status}/content/${encodeURIComponent(contentType).replaceAll('%2F', '~1')}/schema`, JSON.parse(text))
    },
    /** Throws where the body is none that the description allows. */
    body: (route: ApiRoute, value: unknown): void =>
      validate(`${operationOf(route).pointer}/requestBody/content/application~1json/schema`, value),
  }
}

let checker: ReturnType<typeof makeChecker> | null = null
export const openapiChecker = (): ReturnType<typeof makeChecker> => (checker ??= makeChecker())
