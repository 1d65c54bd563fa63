/** A loop in memory whose forge is the mock of GitHub, reached over HTTP by the real adapter. */
import { deployedForges } from '../../../lib/forge/deployed.ts'
import { deployment, type Deployment } from '../../../lib/loop/deployment.ts'
import type { Forge } from '../../../lib/loop/ports.ts'
import type { RunRequest, RunState } from '../../../lib/loop/run.ts'
import { tell } from '../../../lib/loop/tell.ts'
import type { Step } from '../../../lib/names.ts'
import { driveUntil } from '../drive.ts'
import { FakeWorkspaces } from '../fake-workspace.ts'
import { memoryRuns, type MemoryRuns } from '../memory-store.ts'
import { invocationOf, makePorts } from '../ports.ts'
import { aRun } from '../runs.ts'
import type { GithubMock } from './mock.ts'
import { APP, OWNER, REPO, REPOSITORY_ID } from './state.ts'

const URL_OF = `https://github.example/${OWNER}/${REPO}`

const deploymentOn = (apiUrl: string, change: object = {}): Deployment =>
  deployment.parse({
    repositories: [{ url: URL_OF, forge: { kind: 'github', repositoryId: REPOSITORY_ID, ownerId: 2, apiUrl }, ...change }],
    github: { appId: APP.id },
  })

const TEXT = { 'a.js': 'one\n' }
const BAD = { 'a.js': 'one\nbad\n' }

export const githubLoop = (
  mock: GithubMock,
  change: { repository?: object; files?: Record<string, string>; key?: string; runs?: MemoryRuns } = {},
) => {
  /** What was waited for, ms. */
  const slept: number[] = []
  const facts = deploymentOn(mock.url, change.repository)
  const secrets = { gitToken: async () => null, githubKey: async () => change.key ?? mock.key }
  const { teller } = deployedForges(facts, secrets, { sleep: async (ms) => void slept.push(ms), timeout: 2000 })
  const ports = makePorts({
    teller,
    deployment: facts,
    runs: change.runs ?? memoryRuns(),
    workspaces: new FakeWorkspaces({ base: TEXT, head: change.files ?? BAD }),
  })
  // What is pushed is a branch on the forge.
  const publish: Forge['publish'] = ports.forge.publish
  ports.forge.publish = async (request) => {
    mock.state.branches.set(request.target, { sha: request.commit, protected: false })
    return publish(request)
  }
  return {
    ports,
    slept,
    start: (request: Partial<RunRequest> = {}) => aRun(ports, { repository: URL_OF, ...request }),
    drive: async (state: RunState, ...until: Step[]) => (await driveUntil(ports, state, ...until)).state,
    tell: (runId: string, begun = false) => tell(ports, { runId, begun }, invocationOf(ports)),
    item: (runId: string) => ports.runs.forgeItems.get(`${runId}#forge`),
  }
}
export type GithubLoop = ReturnType<typeof githubLoop>

export const findingAt = (line: number | undefined, change: object = {}) => ({
  rule: 'bad-word',
  severity: 'error' as const,
  action: 'auto-fix' as const,
  file: 'a.js',
  ...(line === undefined ? {} : { line }),
  text: `bad on ${line ?? 'no line'}`,
  ...change,
})

/** A reviewer that finds these, once. */
export const finds = ({ ports }: GithubLoop, ...findings: ReturnType<typeof findingAt>[]): void => {
  ports.agent.script.push(ports.agent.done({ findings, accounts: [], skipped: [], summary: 'found some' }))
}

/** A fixer that writes this, and readers that are content with it. */
export const fixes = ({ ports }: GithubLoop, text: string): void => {
  const { agent } = ports
  agent.script.push(async (turn) => {
    await turn.edits?.write('a.js', new TextEncoder().encode(text))
    const given = turn.prompt.task.kind === 'fix' ? turn.prompt.task.findings : []
    return agent.done({ results: given.map(({ id }) => ({ id, status: 'fixed' })), summary: 'mended' })(turn)
  })
  for (const _ of ['reviewer', 'certifier'])
    agent.script.push((turn) => {
      const { task } = turn.prompt
      const accounts =
        task.kind === 'fix' ? [] : task.outstanding.map(({ id, action }) => ({ id, status: action === 'auto-fix' ? 'fixed' : 'open' }))
      return agent.done({ findings: [], accounts, skipped: [], summary: 'mended' })(turn)
    })
}
