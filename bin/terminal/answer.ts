/** A person's answer, from flags or from the keyboard, as the loop takes it. */
import { LoopError } from '../../lib/loop/errors.ts'
import type { Answer } from '../../lib/loop/decision.ts'
import type { FindingDraft, TrackedFinding } from '../../lib/loop/finding.ts'

export interface AnswerFlags {
  approve?: boolean
  skip?: boolean
  abort?: boolean
  fix?: string[]
  decline?: string[]
  note?: string
  noteFor?: string[]
  add?: string[]
}

const bad = (message: string): LoopError => new LoopError('BadDecision', message)

/** FILE:LINE:TEXT or FILE:TEXT. A person who adds a finding wants it fixed. */
export const parseAdded = (text: string): FindingDraft => {
  const match = /^([^:]+):(?:(\d+):)?([^]+)$/.exec(text)
  const [, file, line, what] = match ?? []
  if (!file?.trim() || !what?.trim() || line === '0') throw bad(`--add takes FILE:TEXT or FILE:LINE:TEXT, not ${JSON.stringify(text)}.`)
  return {
    rule: 'added-by-person',
    severity: 'error',
    action: 'auto-fix',
    file: file.trim(),
    text: what.trim(),
    ...(line ? { line: Number(line) } : {}),
  }
}

const parseNoteFor = (text: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1 || !text.slice(at + 1).trim()) throw bad(`--note-for takes ID=TEXT, not ${JSON.stringify(text)}.`)
  return [text.slice(0, at), text.slice(at + 1).trim()]
}

type Open = Pick<TrackedFinding, 'id' | 'severity' | 'action'>

/** Open findings that are more than information: what `all` means, and what a question shows. */
export const worthFixing = <T extends Open>(open: readonly T[]): T[] =>
  open.filter(({ severity, action }) => severity !== 'info' || action === 'ask-user')

/**
 * The one answer that the flags give. `all` among the ids of --fix stands for every open finding that is more than information.
 * Error: BadDecision where they give none, several, or what does not belong together.
 */
export const answerOf = (flags: AnswerFlags, open: readonly Open[]): Answer => {
  const wantsFix = Boolean(flags.fix?.length || flags.add?.length)
  const kinds = [flags.approve && 'approve', wantsFix && 'fix', flags.skip && 'skip', flags.abort && 'abort'].filter(
    (kind) => typeof kind === 'string',
  )
  const [kind] = kinds
  if (!kind) throw bad('Say what to do: one of --approve, --fix ID… (or --add), --skip, --abort.')
  if (kinds.length > 1) throw bad(`Say one thing: ${kinds.map((name) => `--${name}`).join(' and ')} exclude each other.`)
  if (kind !== 'fix') {
    const more = (['decline', 'note', 'noteFor'] as const).find((name) => flags[name]?.length)
    if (more) throw bad(`--${more === 'noteFor' ? 'note-for' : more} goes with --fix or --add, not with --${kind}.`)
    return { kind } as Answer
  }
  const decline = [...new Set(flags.decline ?? [])]
  const named = flags.fix ?? []
  const all = named.includes('all') ? worthFixing(open).map(({ id }) => id) : []
  const findings = [...new Set([...named.filter((id) => id !== 'all'), ...all.filter((id) => !decline.includes(id))])]
  return {
    kind: 'fix',
    findings,
    decline,
    notes: Object.fromEntries((flags.noteFor ?? []).map(parseNoteFor)),
    add: (flags.add ?? []).map(parseAdded),
    ...(flags.note ? { note: flags.note } : {}),
  }
}
