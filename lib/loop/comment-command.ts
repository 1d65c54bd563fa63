/** Commands in comments: the first line says what is to be done, the lines after it say more. Pure. */
import { LoopError } from './errors.ts'
import type { FindingDraft } from './finding.ts'
import { oneLine } from './redact.ts'

const PLAIN = ['run', 'abort'] as const
const ENDING = ['approve', 'skip'] as const

export type CommentCommand =
  | { kind: 'run' }
  | { kind: 'abort' }
  | { kind: (typeof ENDING)[number]; decline: string[] }
  | {
      kind: 'fix'
      /** Ids; none: all that is open and not declined here. */
      findings: string[]
      decline: string[]
      note: string | null
      notes: Record<string, string>
      add: FindingDraft[]
    }

const ID = /^f-[0-9a-f]{10}$/
const ADDED: Pick<FindingDraft, 'rule' | 'severity' | 'action'> = { rule: 'by-person', severity: 'warning', action: 'auto-fix' }

const bad = (why: string): LoopError => new LoopError('BadRequest', `The comment holds no command: ${why}.`)

const idsIn = (words: readonly string[]): string[] => {
  const wrong = words.find((word) => !ID.test(word))
  if (wrong !== undefined) throw bad(`${JSON.stringify(oneLine(wrong, 40))} is no id of a finding`)
  return [...new Set(words)]
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

interface Said {
  decline: string[]
  notes: Record<string, string>
  add: FindingDraft[]
  rest: string[]
}

/** One line after the first. */
const take = (said: Said, line: string): void => {
  const [, declined, why] = /^decline\s+([^:]+)(?::\s*(.*))?$/i.exec(line) ?? []
  if (declined !== undefined) {
    const ids = idsIn(wordsOf(declined))
    said.decline.push(...ids)
    if (why) for (const id of ids) said.notes[id] = why
    return
  }
  const [, on, note] = /^(f-[0-9a-f]{10}):\s*(\S.*)$/.exec(line) ?? []
  if (on !== undefined && note !== undefined) {
    said.notes[on] = note
    return
  }
  const [, file, number, text] = /^add\s+(\S+?)(?::(\d{1,9}))?:\s+(\S.*)$/i.exec(line) ?? []
  if (file !== undefined && text !== undefined) {
    said.add.push({ ...ADDED, file, ...(number === undefined ? {} : { line: Number(number) }), text })
    return
  }
  said.rest.push(line)
}

/**
 * null where the comment is none of ours: its first line does not begin with `/reviewloop`.
 * Errors: BadRequest where it does, and what follows is no command.
 */
export const parseCommand = (comment: string): CommentCommand | null => {
  const [first = '', ...lines] = comment.replace(/\r\n?/g, '\n').trim().split('\n')
  const [, kind = '', rest = ''] = /^\/reviewloop(?:[ \t]+(\S+)(.*))?$/.exec(first.trimEnd()) ?? []
  if (!/^\/reviewloop(?:[ \t]|$)/.test(first)) return null
  const said: Said = { decline: [], notes: {}, add: [], rest: [] }
  for (const line of lines.map((text) => text.trim())) take(said, line)
  const note = said.rest.join('\n').trim() || null

  const plain = PLAIN.find((name) => name === kind)
  const ending = ENDING.find((name) => name === kind)
  const words = wordsOf(rest)
  if (kind === 'fix') {
    const findings = idsIn(words[0] === 'all' && words.length === 1 ? [] : words)
    return { kind, findings, decline: [...new Set(said.decline)], note, notes: said.notes, add: said.add }
  }
  if (!plain && !ending) throw bad('write `/reviewloop run`, `fix`, `approve`, `skip` or `abort`')
  if (words.length) throw bad(`\`${kind}\` takes nothing more on its line`)
  return plain ? { kind: plain } : { kind: ending ?? 'skip', decline: [...new Set(said.decline)] }
}
