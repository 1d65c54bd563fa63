import type { Happening } from '../../lib/loop/happening.ts'
import type { Effects } from '../../lib/loop/ports.ts'

export const T0 = Date.parse('2026-01-05T09:00:00.000Z')

/** Time stands still until a test moves it; nonces are UUIDs that count; what is logged is kept. */
export class FakeEffects implements Effects {
  time = T0
  owner: string | null = null
  readonly logged: { level: string; message: string; facts: Record<string, unknown> }[] = []
  readonly happenings: Happening[] = []
  #nonces = 0

  now = (): number => this.time
  nonce = (): string => `00000000-0000-4000-8000-${String(++this.#nonces).padStart(12, '0')}`
  log = (level: string, message: string, facts: Record<string, unknown> = {}): void => {
    this.logged.push({ level, message, facts })
  }
  happened = (what: Happening): void => {
    this.happenings.push(what)
  }
  advance(milliseconds: number): void {
    this.time += milliseconds
  }
}
