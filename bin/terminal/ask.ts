/** Asks the person at the terminal what is to become of a parked run. */
import { createInterface } from 'node:readline/promises'
import type { Answer } from '../../lib/loop/decision.ts'
import { asLoopError } from '../../lib/loop/errors.ts'
import type { TrackedFinding } from '../../lib/loop/finding.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { oneLine } from '../../lib/loop/redact.ts'
import { asks, place } from '../../lib/loop/report-words.ts'
import { answerOf, worthFixing } from './answer.ts'
import type { Paint } from './paint.ts'

export interface Keyboard {
  input: NodeJS.ReadableStream
  output: NodeJS.WritableStream
}

/** The question as lines of text: why, how many rounds are left, and what is open. */
export const questionLines = (run: RunItem, open: readonly TrackedFinding[], paint: Paint): string[] => {
  const { question } = run
  if (!question) return []
  const shown = worthFixing(open)
  return [
    `${paint('bold', `Run ${run.runId} asks`)}: ${oneLine(asks(question), 600)}`,
    ...shown.map(
      (finding) =>
        `  ${paint('yellow', finding.id)}  ${finding.severity.padEnd(7)}  ${oneLine(place(finding))}  ${oneLine(finding.text, 160)}`,
    ),
    ...(shown.length < open.length ? [`  and ${open.length - shown.length} for information`] : []),
    `  Rounds left: ${question.roundsLeft}. An answer is waited for until ${question.expiresAt}.`,
  ]
}

const CHOICES = '  [a]pprove as it is, [f]ix, [s]kip (changes requested), a[b]ort, [l]eave it parked: '

/** One round of questions. null: leave it parked. Rejects with AbortError when the signal fires. */
const askFor = async (
  keyboard: Keyboard,
  signal: AbortSignal,
  run: RunItem,
  open: readonly TrackedFinding[],
  lines: string[],
): Promise<Answer | null> => {
  const terminal = createInterface({ ...keyboard, terminal: true })
  // Ctrl-C is for the command, which interrupts the run; Ctrl-D leaves the question open.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const closed = new Promise<null>((resolve) => terminal.once('close', () => resolve(null)))
  const say = (line: string) => keyboard.output.write(`${line}\n`)
  const question = async (text: string) => Promise.race([terminal.question(text, { signal }), closed])
  try {
    for (const line of lines) say(line)
    for (;;) {
      const choice = (await question(CHOICES))?.trim().toLowerCase()
      if (choice === undefined || choice === 'l' || choice === 'leave') return null
      if (choice === 'a' || choice === 'approve') return { kind: 'approve' }
      if (choice === 's' || choice === 'skip') return { kind: 'skip' }
      if (choice === 'b' || choice === 'abort') return { kind: 'abort' }
      if (choice !== 'f' && choice !== 'fix') continue
      if ((run.question?.roundsLeft ?? 0) < 1) {
        say('  No round is left for another fix.')
        continue
      }
      const ids = await question('  Ids to fix, with spaces between (Enter: all of these): ')
      const note = await question('  A note for the fixer (Enter: none): ')
      if (ids === null || note === null) return null
      const fix = ids.trim() ? ids.trim().split(/[\s,]+/) : ['all']
      return answerOf({ fix, ...(note.trim() ? { note: note.trim() } : {}) }, open)
    }
  } finally {
    terminal.close()
  }
}

/** Asks until there is an answer that makes sense. null: leave it parked, or the signal fired. */
export const askPerson =
  (keyboard: Keyboard, openOf: (run: RunItem) => Promise<TrackedFinding[]>, paint: Paint) =>
  async (run: RunItem, signal: AbortSignal): Promise<Answer | null> => {
    const open = await openOf(run)
    for (;;) {
      try {
        return await askFor(keyboard, signal, run, open, questionLines(run, open, paint))
      } catch (error) {
        if (signal.aborted) return null
        keyboard.output.write(`  ${asLoopError(error).message}\n`)
      }
    }
  }
