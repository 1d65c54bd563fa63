/** The fixer: the linters' own fixes where they are safe, for the findings it was given. */
import type { AgentTurn, FixTask } from '../../loop/agent.ts'
import { LoopError } from '../../loop/errors.ts'
import type { TrackedFinding } from '../../loop/finding.ts'
import type { FixOutput } from '../../loop/output.ts'
import { openPath } from './changed-file.ts'
import type { TriedEntry } from './entries.ts'
import { fixText, type Outcome } from './fix-file.ts'
import { bytesOf } from './source-text.ts'
import type { Work, Worked } from './work.ts'

type Edits = NonNullable<AgentTurn['edits']>

/** What the session remembers: outcomes of the task in hand, if it is gone on with, and those of the tasks before. */
const memoryOf = ({ turn, entries }: Work): { settled: Map<string, Outcome>; before: Map<string, TriedEntry> } => {
  const begun = turn.prompt.kind === 'task' ? entries.length : entries.findLastIndex((entry) => entry.type === 'task')
  const tried = (from: number, to: number) => entries.slice(from, to).flatMap((entry) => (entry.type === 'tried' ? [entry] : []))
  return {
    settled: new Map(tried(Math.max(0, begun), entries.length).map(({ id, outcome, note }) => [id, { id, status: outcome, note }])),
    before: new Map(tried(0, Math.max(0, begun)).map((entry) => [entry.id, entry])),
  }
}

/** Why a finding is not tried again: this session, or one before it, has done so. */
const whyNotAgain = ({ id }: TrackedFinding, before: ReadonlyMap<string, TriedEntry>, { handOver }: FixTask): string | null => {
  const tried = before.get(id)
  if (tried?.outcome === 'fixed') return `Tried in turn ${tried.turn}, and it did not help.`
  if (tried) return `As in turn ${tried.turn}: ${tried.note}`
  const earlier = handOver?.tried.findLast((entry) => entry.id === id && entry.commit !== null)
  return earlier ? `Tried before, in commit ${earlier.commit?.slice(0, 10)}, and it did not help.` : null
}

export const fix = async (work: Work, task: FixTask, edits: Edits): Promise<Worked> => {
  const { transcript, prompt, turn, progress } = work.turn
  const { settled, before } = memoryOf(work)
  if (prompt.kind === 'task') transcript.append({ type: 'task', turn })
  for (const finding of task.findings) {
    const why = settled.has(finding.id) ? null : whyNotAgain(finding, before, task)
    if (why !== null) settled.set(finding.id, { id: finding.id, status: 'not-fixed', note: why })
  }
  for (const [path, findings] of Map.groupBy(task.findings, ({ file }) => file)) {
    const todo = findings.filter(({ id }) => !settled.has(id))
    if (todo.length === 0) continue
    if (work.pace.due) return { kind: 'checkpoint' }
    for (const { lasting, ...outcome } of await fixFile(work, edits, path, todo)) {
      settled.set(outcome.id, outcome)
      if (lasting)
        transcript.append({ type: 'tried', turn, id: outcome.id, outcome: outcome.status, note: outcome.note } satisfies TriedEntry)
    }
    work.pace.didFile()
  }
  const output = outputOf(task, settled)
  progress(output.summary)
  return { kind: 'done', output }
}

/** `lasting`: trying again would end the same, so it is remembered. */
const fixFile = async (work: Work, edits: Edits, path: string, findings: TrackedFinding[]): Promise<(Outcome & { lasting: boolean })[]> => {
  const all = (note: string, lasting: boolean) => findings.map(({ id }) => ({ id, status: 'not-fixed' as const, note, lasting }))
  const opened = await openPath(path, work.turn.files)
  if ('skip' in opened) return all(`Not looked at: ${opened.skip}.`, true)
  const { kind, source } = opened
  let gaveUp = false
  const { text, outcomes } = await fixText({ path, kind, text: source.text }, findings, async (...what) => {
    const linted = await work.lint(...what)
    gaveUp ||= 'skip' in linted
    return linted
  })
  try {
    if (text !== source.text) await edits.write(path, bytesOf({ ...source, text }))
  } catch (error) {
    if (!(error instanceof LoopError)) throw error
    return all(`Not written: ${error.message}`, true)
  }
  return outcomes.map((outcome) => ({ ...outcome, lasting: !gaveUp }))
}

const outputOf = ({ findings }: FixTask, settled: ReadonlyMap<string, Outcome>): FixOutput => {
  const results = findings.map(({ id }) => settled.get(id) ?? { id, status: 'not-fixed' as const, note: 'Not looked at.' })
  const fixed = results.filter(({ status }) => status === 'fixed').length
  return { results, summary: `Fixed ${fixed} of ${findings.length} finding${findings.length === 1 ? '' : 's'}.` }
}
