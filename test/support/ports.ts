/** Everything a use case needs, in memory; a test puts its own in where it cares. */
import type { RunItem } from '../../lib/loop/items.ts'
import { type Deployment, deployment, NO_DEPLOYMENT } from '../../lib/loop/deployment.ts'
import type { Notice } from '../../lib/loop/notice.ts'
import type { Executions, Forge, Invocation, Ports } from '../../lib/loop/ports.ts'
import * as policies from '../../lib/loop/policy.ts'
import type { TurnRecord } from '../../lib/loop/record.ts'
import type { RunState } from '../../lib/loop/run.ts'
import { FakeEffects } from './clock.ts'
import { FakeAgent, fakeAgents, usageOf } from './fake-agent.ts'
import { FakeWorkspaces } from './fake-workspace.ts'
import { memoryArtifacts, memoryRuns, memorySessions } from './memory-store.ts'

export const RUN_ID = 'r-0123456789abcdef'
export const HEAD = 'a'.repeat(40)
export const BASE = 'b'.repeat(40)

export class FakeExecutions implements Executions {
  readonly started: { name: string; input: RunState }[] = []
  readonly stopped: string[] = []
  readonly woken: string[] = []

  start = async (name: string, input: RunState): Promise<void> => {
    if (!this.started.some((execution) => execution.name === name)) this.started.push({ name, input })
  }
  stop = async (name: string): Promise<void> => {
    this.stopped.push(name)
  }
  wake = async (token: string): Promise<void> => {
    this.woken.push(token)
  }
}

class FakeForge implements Forge {
  /** The head of every branch but `main`, which stands at BASE; null when the branch is gone. */
  head: string | null = HEAD
  readonly published: Parameters<Forge['publish']>[0][] = []

  branchHead = async (_repository: string, branch: string): Promise<string | null> => (branch === 'main' ? BASE : this.head)
  publish: Forge['publish'] = async (request) => {
    const already = this.published.some((other) => other.commit === request.commit && other.target === request.target)
    if (!already) this.published.push(request)
    return already ? 'already' : 'published'
  }
}

const makeFakes = () => {
  const agent = new FakeAgent()
  const announced: string[] = []
  const notices: Notice[] = []
  return {
    sessions: memorySessions(),
    runs: memoryRuns(),
    artifacts: memoryArtifacts(),
    workspaces: new FakeWorkspaces(),
    agents: fakeAgents(agent),
    forge: new FakeForge(),
    teller: null,
    /** What was announced: run ids in order, with a `+` where the run was said to be at work. */
    announced,
    announce: async (runId: string, hint?: { begun: boolean }) => void announced.push(`${runId}${hint?.begun ? '+' : ''}`),
    /** What people were told. */
    notices,
    notify: async (notice: Notice) => void notices.push(notice),
    executions: new FakeExecutions(),
    effects: new FakeEffects(),
    defaultAgents: [agent.id],
    deployment: NO_DEPLOYMENT,
    /** The one agent there is, unless the test brings its own. */
    agent,
  }
}
type Fakes = ReturnType<typeof makeFakes>

/** Ports in memory, and the fakes by their own types, so that a test can move the clock or look at what was done. */
export const makePorts = <Own extends Partial<Ports> = object>(own: Own = {} as Own): Omit<Fakes, keyof Own> & Own => ({
  ...makeFakes(),
  ...own,
})

/** A deployment of one repository. */
export const deploymentOf = (url: string, change: object = {}): Deployment =>
  deployment.parse({ repositories: [{ url, defaultBranch: 'main', ...change }] })

export const invocationOf = (ports: { effects: { now(): number } }, change: Partial<Invocation> = {}): Invocation => ({
  deadline: ports.effects.now() + 14 * 60_000,
  signal: new AbortController().signal,
  progress: () => undefined,
  ...change,
})

export const policyOf = (settings: unknown = {}): policies.Policy => policies.policy.parse(settings)

/** A run before its first turn. */
export const stateOf = (change: Partial<RunState> = {}): RunState => ({
  runId: RUN_ID,
  epoch: 1,
  next: 'Review',
  policy: { rounds: 3, certify: 'auto', ask: 'always', continuations: 5, askSeconds: 72 * 3600 },
  turn: 0,
  round: 0,
  continuations: 0,
  source: null,
  record: null,
  changeset: null,
  decision: null,
  commit: HEAD,
  certified: null,
  fixed: false,
  spent: { tokens: 0, dollars: 0, milliseconds: 0 },
  last: null,
  verdict: null,
  ...change,
})

export const turnRecordOf = (change: Partial<TurnRecord> = {}): TurnRecord => ({
  role: 'reviewer',
  turn: 1,
  round: 0,
  fence: 1,
  epoch: 1,
  mode: 'started',
  why: 'the first turn of this role',
  agent: 'fake',
  agentVersion: '1',
  fingerprint: null,
  ended: 'done',
  limit: null,
  usage: usageOf(),
  startedAt: '2026-01-05T09:00:00.000Z',
  endedAt: '2026-01-05T09:01:00.000Z',
  raised: 0,
  fixed: 0,
  open: 0,
  commit: HEAD,
  summary: 'nothing found',
  ...change,
})

/** A run that has just started. */
export const runItemOf = (change: Partial<RunItem> = {}): RunItem => ({
  runId: RUN_ID,
  rev: 1,
  nonce: 'first',
  request: { repository: '/repository', branch: 'change', base: BASE, head: HEAD, overrides: {}, attempt: 1, publishTo: null },
  status: 'running',
  epoch: 1,
  bundle: null,
  startedBy: 'cli',
  question: null,
  token: null,
  decision: null,
  publishing: null,
  reports: {},
  record: null,
  verdict: null,
  failure: null,
  createdAt: '2026-01-05T09:00:00.000Z',
  updatedAt: '2026-01-05T09:00:00.000Z',
  endedAt: null,
  closed: false,
  ttl: 1_800_000_000,
  ...change,
})
