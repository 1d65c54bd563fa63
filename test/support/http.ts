/** Events of the HTTP API as API Gateway sends them, and what a handler made of them. */
import { openapiChecker } from './openapi.ts'
import type { ApiRoute } from '../../lib/names.ts'

const ARN = 'arn:aws:sts::000000000000:assumed-role/Team/ada'

export interface Call {
  id?: string
  body?: unknown
  query?: Record<string, string>
  headers?: Record<string, string>
  /** ARN of the caller; null where IAM let nobody in. */
  arn?: string | null
}

export const apiEvent = (route: ApiRoute, { id, body, query, headers = {}, arn = ARN }: Call = {}): object => {
  const [method = '', path = ''] = route.split(' ')
  const rawPath = path.replace('{id}', id ?? '')
  return {
    version: '2.0',
    routeKey: route,
    rawPath,
    headers: { host: 'api.example', ...headers },
    ...(query ? { queryStringParameters: query } : {}),
    ...(id === undefined ? {} : { pathParameters: { id } }),
    requestContext: {
      http: { method, path: rawPath },
      ...(arn === null || path.startsWith('/ci/') ? {} : { authorizer: { iam: { userArn: arn } } }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    isBase64Encoded: false,
  }
}

export interface Answered {
  status: number
  headers: Record<string, string>
  text: string
  json: () => unknown
}

/** The answer of a handler to an event of the route, which has to be as the API's description says. */
export const answered = (route: ApiRoute, given: unknown): Answered => {
  const { statusCode, headers, body, isBase64Encoded } = given as {
    statusCode: number
    headers: Record<string, string>
    body: string
    isBase64Encoded?: boolean
  }
  const text = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8').toString('utf8')
  openapiChecker().answer(route, { status: statusCode, contentType: headers['content-type'] ?? '', text })
  return { status: statusCode, headers, text, json: () => JSON.parse(text) }
}
