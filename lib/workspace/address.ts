/** Where a repository is, and what of it may be shown. Pure: the functions without git use it too. */
import { isAbsolute, normalize } from 'node:path'
import { isBranchName } from '../loop/branch-name.ts'
import { LoopError } from '../loop/errors.ts'
import { keepSecrets, oneLine } from '../loop/redact.ts'
import { ENV } from '../names.ts'

export type Address = { kind: 'path'; path: string } | { kind: 'url'; url: URL }

/** Gives the token of the repositories' server; null for none. Asked for https addresses only. */
export type TokenSource = () => Promise<string | null>

/** The token of a person's own environment: the command line, and tests. */
export const environmentToken: TokenSource = async () => process.env[ENV.gitToken] ?? null

/** A token as header value. Servers take the password and do not look at the name; this one is GitHub's. */
export const authorization = (token: string): string => `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`

const isLoopback = (host: string): boolean => host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)

/** Takes credentials in addresses out of a text, and every secret given, in the clear or as the header's value. */
export const redact = (text: string, secrets: readonly string[] = []): string =>
  secrets
    .flatMap((secret) => (secret === '' ? [] : [authorization(secret).slice('Basic '.length), secret]))
    .reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^/\s]{0,2048}@/gi, '$1***@')

const refuse = (why: string): never => {
  throw new LoopError('BadRequest', `repository: ${why}`)
}

/**
 * An https URL, a plain http URL of this machine, or an absolute path.
 * Errors: BadRequest for every other scheme, a relative path, a credential or a query in the URL.
 */
export const parseAddress = (repository: string): Address => {
  if (/\p{Cc}/u.test(repository)) return refuse('the address holds a control character')
  if (isAbsolute(repository)) return { kind: 'path', path: normalize(repository) }
  if (!/^https?:\/\//i.test(repository) || !URL.canParse(repository)) {
    return refuse(`${oneLine(redact(repository))} is neither an https URL nor an absolute path`)
  }
  const url = new URL(repository)
  if (url.username !== '' || url.password !== '') return refuse(`a credential stands in the URL of ${url.host}: give the token by itself`)
  if (url.search !== '' || url.hash !== '') return refuse(`the URL of ${url.host} has a query or a fragment`)
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return refuse(`plain http to ${url.host}: only https leaves this machine`)
  return { kind: 'url', url }
}

/**
 * A token as it may be sent: only over https, in one line. From then on no text of this process shows it.
 * Errors: BadRequest where the token holds a character that no header may.
 */
export const tokenFor = async (url: URL, source: TokenSource): Promise<string | null> => {
  if (url.protocol !== 'https:') return null
  const token = (await source())?.trim() ?? ''
  keepSecrets([token])
  if (/[^\x21-\x7e]/.test(token)) throw new LoopError('BadRequest', `the token for ${url.host} holds a character that no token has`)
  return token === '' ? null : token
}

/**
 * Full name of a branch, which is data: never an option, never a pattern.
 * Errors: BadRequest for a name that git does not allow.
 */
export const branchRef = (branch: string): string => {
  if (!isBranchName(branch)) throw new LoopError('BadRequest', `${JSON.stringify(oneLine(branch))} is no name for a branch`)
  return `refs/heads/${branch}`
}
