/** Tokens of CI jobs, checked against the published keys of their issuer. */
import { createRemoteJWKSet, decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose'
import { keysOf, trustedIssuers } from '../loop/ci-claims.ts'
import type { Deployment } from '../loop/deployment.ts'
import { LoopError } from '../loop/errors.ts'
import type { CiKind } from '../names.ts'

/** Gives the claims of a token that an issuer of the deployment signed for it, and that holds now. */
export type VerifyToken = (kind: CiKind, token: string) => Promise<{ issuer: string; claims: JWTPayload }>

export interface TokenOptions {
  /** ms since 1970 */
  now?: () => number
  /** ms in which a key that nobody knows makes nobody ask again: tokens cannot be used to flood the issuer. */
  cooldown?: number
}

/** What GitHub and GitLab sign with. Neither `none` nor a shared secret can ever fit. */
const ALGORITHMS = ['RS256']
const CLOCK_SKEW_SECONDS = 30
const KEYS_MS = 10 * 60_000
const TIMEOUT_MS = 5000

const refuse = (why: string, cause?: unknown): never => {
  throw new LoopError('NotAuthenticated', `The token was not accepted: ${why}.`, {}, { cause })
}

const issuerIn = (token: string): unknown => {
  try {
    return decodeJwt(token).iss
  } catch (cause) {
    return refuse('it is no JSON web token', cause)
  }
}

const explain = (cause: unknown, issuer: string): never => {
  if (cause instanceof errors.JWTExpired) return refuse('it has expired', cause)
  if (cause instanceof errors.JWTClaimValidationFailed) return refuse(`its claim ${cause.claim} does not fit (${cause.reason})`, cause)
  if (cause instanceof errors.JOSEAlgNotAllowed) return refuse('it is signed by another algorithm than RS256', cause)
  if (cause instanceof errors.JWKSNoMatchingKey || cause instanceof errors.JWSSignatureVerificationFailed)
    return refuse('no key of its issuer has signed it', cause)
  // What is left of the library's own errors is about the token, but for the two that its fetching of keys throws.
  const isAboutKeys = !(cause instanceof errors.JOSEError) || cause instanceof errors.JWKSTimeout || cause.code === 'ERR_JOSE_GENERIC'
  if (isAboutKeys) throw new LoopError('IssuerUnavailable', `${issuer} did not give its keys.`, {}, { cause })
  return refuse('it is no token of a CI job', cause)
}

/** Keys are fetched once, kept for some minutes, and fetched anew when a token names one that is not among them. */
export const verifyTokens = (deployment: Deployment, { now = Date.now, cooldown = 30_000 }: TokenOptions = {}): VerifyToken => {
  const sets = new Map<string, ReturnType<typeof createRemoteJWKSet>>()
  const keysFor = (kind: CiKind, issuer: string): ReturnType<typeof createRemoteJWKSet> => {
    const set =
      sets.get(issuer) ??
      createRemoteJWKSet(new URL(keysOf(kind, issuer)), {
        timeoutDuration: TIMEOUT_MS,
        cooldownDuration: cooldown,
        cacheMaxAge: KEYS_MS,
      })
    sets.set(issuer, set)
    return set
  }
  return async (kind, token) => {
    const claimed = issuerIn(token)
    const issuer = trustedIssuers(deployment, kind).find((trusted) => trusted === claimed)
    if (!issuer) return refuse('it is of an issuer that this deployment does not know')
    try {
      const { payload } = await jwtVerify(token, keysFor(kind, issuer), {
        issuer,
        audience: deployment.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp', 'iat'],
        clockTolerance: CLOCK_SKEW_SECONDS,
        currentDate: new Date(now()),
      })
      return { issuer, claims: payload }
    } catch (cause) {
      return explain(cause, issuer)
    }
  }
}
