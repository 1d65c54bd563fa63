/** Who calls: a person or service that IAM let in, or a job of a CI by its token. What a route is open to stands in names.ts. */
import { type CiJob, ciJob } from '../loop/ci-claims.ts'
import type { Deployment } from '../loop/deployment.ts'
import { LoopError } from '../loop/errors.ts'
import { API_ROUTES, type ApiRoute } from '../names.ts'
import type { HttpEvent } from './http.ts'
import type { VerifyToken } from './oidc.ts'

export interface Caller {
  /** Shown to people as who started, decided, ended. */
  name: string
  /** null for whoever IAM let in. */
  job: CiJob | null
}

/** Errors: NoSuchRoute, NotAuthenticated, CallerRefused, IssuerUnavailable. */
export type Callers = (request: HttpEvent) => Promise<Caller>

/** For functions none of whose routes is open to a CI. */
export const noTokens: VerifyToken = () => {
  throw new LoopError('NotAuthenticated', 'No token is taken here.')
}

const isRoute = (key: string): key is ApiRoute => Object.hasOwn(API_ROUTES, key)

/** What the ARN says of the caller, without partition and account: `assumed-role/Admin/ada@example.org`. */
const nameOf = (arn: string): string => (arn.split(':').slice(5).join(':') || arn).slice(-200)

export const makeCallers =
  (deployment: Deployment, verify: VerifyToken): Callers =>
  async ({ routeKey, headers, requestContext }) => {
    if (!isRoute(routeKey)) throw new LoopError('NoSuchRoute', `There is no route ${JSON.stringify(routeKey.slice(0, 100))}.`)
    const { open } = API_ROUTES[routeKey]
    if (open === 'iam') {
      const arn = requestContext.authorizer?.iam?.userArn
      if (!arn) throw new LoopError('NotAuthenticated', 'The request is not signed.')
      return { name: nameOf(arn), job: null }
    }
    const token = /^Bearer ([\w.~+/=-]{1,16384})$/i.exec(headers['authorization'] ?? '')?.[1]
    if (!token) throw new LoopError('NotAuthenticated', 'Send the token of the job as `Authorization: Bearer …`.')
    const { issuer, claims } = await verify(open, token)
    const job = ciJob(deployment, open, issuer, claims)
    return { name: job.name, job }
  }
