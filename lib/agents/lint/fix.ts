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
const whyNotAgain = (
  { id, line }: TrackedFinding,
  before: ReadonlyMap<string, TriedEntry>,
  { handOver }: FixTask,
  text: string,
): string | null => {
  const tried = before.get(id)
  // Where fewer lines read so than before, the fix did help, and this is the next of several equal lines under the same id.
  if (tried?.outcome === 'fixed') return equalLines(text, line) < tried.equal ? null : `Tried in turn ${tried.turn}, and it did not help.`
  if (tried) return `As in turn ${tried.turn}: ${tried.note}`
  const earlier = handOver?.tried.findLast((entry) => entry.id === id && entry.commit !== null)
  return earlier ? `Tried before, in commit ${earlier.commit?.slice(0, 10)}, and it did not help.` : null
}

/** How many lines of the text read like this one, white space at the ends aside. */
const equalLines = (text: string, line: number | undefined): number => {
  const lines = text.split('\n').map((one) => one.trim())
  const wanted = line === undefined ? undefined : lines[line - 1]
  return lines.filter((one) => one === wanted).length
}

export const fix = async (work: Work, task: FixTask, edits: Edits): Promise<Worked> => {
  const { transcript, prompt, turn, progress } = work.turn
  const { settled, before } = memoryOf(work)
  if (prompt.kind === 'task') transcript.append({ type: 'task', turn })
  for (const [path, findings] of Map.groupBy(task.findings, ({ file }) => file)) {
    const todo = findings.filter(({ id }) => !settled.has(id))
    if (todo.length === 0) continue
    if (work.pace.due) return { kind: 'checkpoint' }
    const why = (finding: TrackedFinding, text: string) => whyNotAgain(finding, before, task, text)
    for (const { lasting, equal, ...outcome } of await fixFile(work, edits, path, todo, why)) {
      settled.set(outcome.id, outcome)
      if (lasting)
        transcript.append({ type: 'tried', turn, id: outcome.id, outcome: outcome.status, note: outcome.note, equal } satisfies TriedEntry)
    }
    work.pace.didFile()
  }
  const output = outputOf(task, settled)
  progress(output.summary)
  return { kind: 'done', output }
}

/** `lasting`: trying again would end the same, so it is remembered. */
type Tried = Outcome & { lasting: boolean; equal: number }

const fixFile = async (
  work: Work,
  edits: Edits,
  path: string,
  given: TrackedFinding[],
  whyNot: (finding: TrackedFinding, text: string) => string | null,
): Promise<Tried[]> => {
  const all = (findings: TrackedFinding[], note: string): Tried[] =>
    findings.map(({ id }) => ({ id, status: 'not-fixed', note, lasting: true, equal: 0 }))
  const opened = await openPath(path, work.turn.files)
  if ('skip' in opened) return all(given, `Not looked at: ${opened.skip}.`)
  const { kind, source } = opened
  const refused = given.flatMap((finding): Tried[] => {
    const note = whyNot(finding, source.text)
    return note === null ? [] : [{ id: finding.id, status: 'not-fixed', note, lasting: false, equal: 0 }]
  })
  const findings = given.filter(({ id }) => !refused.some((one) => one.id === id))
  if (findings.length === 0) return refused
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
    return [...refused, ...all(findings, `Not written: ${error.message}`)]
  }
  const lineOf = new Map(findings.map(({ id, line }) => [id, line]))
  return [
    ...refused,
    ...outcomes.map((outcome) => ({ ...outcome, lasting: !gaveUp, equal: equalLines(source.text, lineOf.get(outcome.id)) })),
  ]
}

const outputOf = ({ findings }: FixTask, settled: ReadonlyMap<string, Outcome>): FixOutput => {
  const results = findings.map(({ id }) => settled.get(id) ?? { id, status: 'not-fixed' as const, note: 'Not looked at.' })
  const fixed = results.filter(({ status }) => status === 'fixed').length
  return { results, summary: `Fixed ${fixed} of ${findings.length} finding${findings.length === 1 ? '' : 's'}.` }
}
