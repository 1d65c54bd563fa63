/** The description of the HTTP API (OpenAPI 3.1), made from the schemas that its handlers check by and from the routes of names.ts. */
import * as z from 'zod'
import { API_ROUTES, type ApiRoute, CI_KINDS } from '../names.ts'
import { content, EVERYWHERE, OF_TOKENS, operationOf, problems, ref } from './openapi-operations.ts'
import { apiSchemas } from './openapi-schemas.ts'
import { runId } from './run.ts'

type Json = Record<string, unknown>

const parametersOf = (path: string, query: z.ZodObject | undefined): Json[] => {
  const { properties = {} } = query
    ? (z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' }) as { properties?: Record<string, Json> })
    : {}
  const { $schema: _version, ...idSchema } = z.toJSONSchema(runId) as Json
  const id = { name: 'id', in: 'path', required: true, schema: idSchema }
  return [...(path.includes('{id}') ? [id] : []), ...Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }))]
}

const describe = (route: ApiRoute): [path: string, method: string, operation: Json] => {
  const [method = '', path = ''] = route.split(' ')
  const { open } = API_ROUTES[route]
  const of = operationOf(route)
  const parameters = parametersOf(path, of.query)
  return [
    path,
    method.toLowerCase(),
    {
      operationId: route
        .toLowerCase()
        .replaceAll(/[^a-z]+/g, '-')
        .replaceAll(/^-|-$/g, ''),
      summary: of.summary,
      security: [{ [open]: [] }],
      ...(parameters.length ? { parameters } : {}),
      ...(of.body ? { requestBody: { required: true, ...content('application/json', ref(of.body)) } } : {}),
      responses: { ...of.answers, ...problems([...of.errors, ...EVERYWHERE, ...(open === 'iam' ? [] : OF_TOKENS)]) },
    },
  ]
}

const SECURITY: Json = {
  iam: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: 'AWS Signature Version 4, service `execute-api`.',
    'x-amazon-apigateway-authtype': 'awsSigv4',
  },
  ...Object.fromEntries(
    CI_KINDS.map((kind) => [kind, { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: `OIDC token of a job of ${kind}.` }]),
  ),
}

export const openapi = (version: string): Json => {
  const paths: Record<string, Json> = {}
  for (const route of Object.keys(API_ROUTES) as ApiRoute[]) {
    const [path, method, operation] = describe(route)
    paths[path] = { ...paths[path], [method]: operation }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'reviewloop', version, description: 'Starting, seeing, answering and ending runs of the loop.' },
    paths,
    components: {
      securitySchemes: SECURITY,
      schemas: apiSchemas(),
    },
  }
}
