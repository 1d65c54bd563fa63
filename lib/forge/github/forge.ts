/** Pushing to GitHub: git's own push that names the expected old commit, by a token of the App for the one repository. */
import type { Deployment } from '../../loop/deployment.ts'
import { asLoopError, LoopError } from '../../loop/errors.ts'
import type { Forge } from '../../loop/ports.ts'
import { gitForge } from '../git-forge.ts'
import { type Access, type AppOptions, nameOf, openAccess } from './app.ts'
import { githubFacts } from './teller.ts'

/** GitHub would let an App through that the protection excepts; nobody asked for that. Errors: PushRefused. */
const assertUnprotected = async (
  { client }: Access,
  at: { owner: string; repo: string },
  branch: string,
  signal: AbortSignal,
): Promise<void> => {
  try {
    const found = await client.call('GET /repos/{owner}/{repo}/branches/{branch}', { ...at, branch }, { signal })
    if (found.protected) throw new LoopError('PushRefused', `Branch ${branch} is protected: nothing is pushed to it.`, { branch })
  } catch (thrown) {
    // It is not there yet.
    if (asLoopError(thrown).details['status'] !== 404) throw thrown
  }
}

/**
 * Repositories of GitHub are pushed to by the App, all others by `others`. Only a branch of the repository itself is ever named: that of
 * a fork is out of reach. Errors of `publish`: those of the port, of `openAccess`, and PushRefused for a protected branch.
 */
export const githubForge = (deployment: Deployment, app: AppOptions, others: Forge, folder?: string): Forge => ({
  branchHead: (repository, branch) => others.branchHead(repository, branch),
  publish: async (request) => {
    const facts = githubFacts(deployment, request.repository)
    if (!facts) return others.publish(request)
    const at = nameOf(facts.url)
    const access = await openAccess(app, { ...at, ...facts.forge }, { contents: 'write' }, request.signal)
    await assertUnprotected(access, at, request.target, request.signal)
    return gitForge({ token: async () => access.token, ...(folder === undefined ? {} : { folder }) }).publish(request)
  },
})
