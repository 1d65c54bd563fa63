/** Reads what git said about a remote repository. Only exit code and stderr tell the reasons apart. */
import { LoopError } from '../loop/errors.ts'
import { complaint, type GitResult } from './git.ts'

const CREDENTIAL =
  /Authentication failed|could not read (Username|Password)|terminal prompts disabled|returned error: 40[13]|Access denied|Permission (to .* )?denied|Invalid username/i
const ABSENT = /returned error: 404|repository '.*' not found|Repository not found|does not appear to be a git repository/i
const MOVED = /returned error: 3\d\d|unable to update url base from redirection/i
const UNADVERTISED = /Server does not allow request for unadvertised object/i
const NO_SUCH_OBJECT = /not our ref|upload-pack: not our ref|couldn't find remote ref/i

/** The server gives branches only, not commits by id. */
export const wantsBranches = (result: GitResult): boolean => UNADVERTISED.test(result.stderr)
/** The server has no such commit, or no such branch. */
export const hasNoSuchObject = (result: GitResult): boolean => NO_SUCH_OBJECT.test(result.stderr)

const refusal = (stderr: string, where: string): string | null => {
  if (CREDENTIAL.test(stderr)) return `${where} did not accept the credential, or wants one`
  if (ABSENT.test(stderr)) return `${where} was not found`
  return MOVED.test(stderr) ? `${where} answers with another address: use that one` : null
}

/** What a failed fetch or ls-remote was: FetchRefused, or FetchFailed, which is retried. */
export const fetchError = (result: GitResult, where: string): LoopError => {
  const refused = refusal(result.stderr, where)
  return refused
    ? new LoopError('FetchRefused', refused)
    : new LoopError('FetchFailed', `fetching from ${where}: ${complaint(result.stderr)}`)
}

/** What a failed push was: PushRefused, or PushFailed, which is retried. `report` is the porcelain output. */
export const pushError = (result: GitResult, where: string): LoopError => {
  const refused = refusal(result.stderr, where)
  if (refused) return new LoopError('PushRefused', refused)
  const rejected = /^!\t.*\[(?:remote )?rejected\] ?\(?(.*?)\)?$/m.exec(result.stdout.toString('utf8'))
  if (rejected) return new LoopError('PushRefused', `${where} rejected the push: ${rejected[1]!.slice(0, 300)}`)
  return new LoopError('PushFailed', `pushing to ${where}: ${complaint(result.stderr)}`)
}

/** True where the branch was not moved, for whatever reason; false where the push itself did not come through. */
export const isRejected = (result: GitResult): boolean => /^!\t/m.test(result.stdout.toString('utf8'))
