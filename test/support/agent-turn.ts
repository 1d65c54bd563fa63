/** Turns to give to an agent, for tests: all there is to a turn has a default. */
import type { AgentTurn, FixTask, ReviewTask, Transcript } from '../../lib/loop/agent.ts'
import type { DiffFile } from '../../lib/loop/diff.ts'
import type { Finding, FindingDraft, TrackedFinding } from '../../lib/loop/finding.ts'
import { findingIds } from '../../lib/loop/findings.ts'
import { policy } from '../../lib/loop/policy.ts'
import { MemoryFiles } from './memory-files.ts'

export class MemoryTranscript implements Transcript {
  entries: unknown[]

  constructor(entries: readonly unknown[] = []) {
    this.entries = structuredClone([...entries])
  }

  append(entry: unknown): void {
    this.entries.push(structuredClone(entry))
  }

  history(): readonly unknown[] {
    return structuredClone(this.entries)
  }

  reset(): void {
    this.entries = []
  }
}

const POLICY = policy.parse({})

export const reviewTask = (
  diff: DiffFile[],
  outstanding: TrackedFinding[] = [],
  kind: ReviewTask['kind'] = outstanding.length > 0 ? 're-review' : 'review',
): ReviewTask => ({
  kind,
  diff,
  policy: POLICY,
  messages: [],
  outstanding,
  declined: [],
  handOver: null,
})

export const fixTask = (diff: DiffFile[], findings: TrackedFinding[], more: Partial<FixTask> = {}): FixTask => ({
  kind: 'fix',
  diff,
  policy: POLICY,
  findings,
  notes: {},
  handOver: null,
  ...more,
})

/** A turn of whoever does such a task, over files in memory. */
export const agentTurn = (
  task: ReviewTask | FixTask,
  files: MemoryFiles = new MemoryFiles(),
  more: Partial<AgentTurn> = {},
): AgentTurn => ({
  role: task.kind === 'fix' ? 'fixer' : task.kind === 'certify' ? 'certifier' : 'reviewer',
  runId: 'r-0123456789abcdef',
  turn: 1,
  session: { mode: 'none' },
  transcript: new MemoryTranscript(),
  prompt: { kind: 'task', task },
  root: '/workspace',
  files,
  edits: task.kind === 'fix' ? files : null,
  deadline: Date.now() + 60_000,
  signal: new AbortController().signal,
  budget: { tokens: 1_000_000, dollars: 10, calls: 80 },
  progress: () => undefined,
  ...more,
})

/** Drafts as the loop tracks them. */
export const tracked = (drafts: readonly FindingDraft[], files: MemoryFiles): TrackedFinding[] => {
  const ids = findingIds(drafts, (file, line) => files.text(file).split('\n')[line - 1] ?? null)
  return drafts.map((draft, index) => {
    const found: Finding = { ...draft, id: ids[index] ?? '', action: draft.action ?? 'ask-user', inDiff: draft.line !== undefined }
    return { ...found, status: 'open', leftUnfixed: 0, returned: false, history: [{ event: 'raised', turn: 1, round: 0 }] }
  })
}
