/** What is planted where only one role of one run may see it: canaries in conversations, and the ids of sessions. */
import { createHash } from 'node:crypto'
import type { TurnRole } from '../../../lib/names.ts'

export interface Owner {
  runId: string
  role: TurnRole
}

const CANARY = /CANARY-[0-9a-f]{24}/g

export class Secrets {
  readonly #canaries = new Map<string, Owner & { turn: number }>()
  readonly #sessions = new Map<string, Owner>()

  /** A text that stands for what was said in the conversation of a turn. */
  canary(owner: Owner & { turn: number }): string {
    const text = `CANARY-${createHash('sha256')
      .update(JSON.stringify([owner, this.#canaries.size]))
      .digest('hex')
      .slice(0, 24)}`
    this.#canaries.set(text, owner)
    return text
  }

  /** Answers whose session it was before, where that is somebody else. */
  session(id: string, owner: Owner): Owner | null {
    const before = this.#sessions.get(id)
    if (!before) this.#sessions.set(id, owner)
    return before && (before.runId !== owner.runId || before.role !== owner.role) ? before : null
  }

  canariesIn(text: string): (Owner & { turn: number; text: string })[] {
    return [...new Set(text.match(CANARY))].flatMap((found) => {
      const owner = this.#canaries.get(found)
      return owner ? [{ ...owner, text: found }] : []
    })
  }

  /** Everything in the text that is somebody's own. */
  in(text: string): (Owner & { text: string })[] {
    const sessions = [...this.#sessions].flatMap(([id, owner]) => (text.includes(id) ? [{ ...owner, text: `the session id ${id}` }] : []))
    return [...this.canariesIn(text), ...sessions]
  }

  /** What the text gives away to `reader`; null: to whoever may read it. */
  leaked(text: string, reader: Owner | null): string[] {
    return this.in(text)
      .filter((owner) => owner.runId !== reader?.runId || owner.role !== reader.role)
      .map((owner) => `${owner.text} of the ${owner.role} of ${owner.runId}`)
  }
}
