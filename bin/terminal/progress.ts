/** Live progress on stderr: on a terminal one line that is drawn again, elsewhere plain lines, and a sign of life on anything long. */
import type { EngineEvent } from '../../lib/local/engine-events.ts'
import { oneLine, redact } from '../../lib/loop/redact.ts'
import { duration, paintFor, type Paint, type Screen } from './paint.ts'

/** What a turn came to, from the run's record. */
export interface TurnFacts {
  round: number
  mode: string
  raised: number
  fixed: number
  open: number
}

export interface ProgressOptions {
  screen: Screen
  env?: Readonly<Record<string, string | undefined>>
  now?: () => number
  /** Facts of the turn that led to a state; null for a state that is no turn. */
  factsOf?: (state: string, output: unknown) => Promise<TurnFacts | null>
}

/** States that people care for. */
const SHOWN = new Set(['Prepare', 'Review', 'Fix', 'Certify', 'Park', 'Publish', 'Close'])
const TURNS = new Set(['Review', 'Fix', 'Certify'])
const LIFE_MS = 2000
const AGAIN_MS = 10_000
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

const roundOf = (value: unknown): number =>
  value !== null && typeof value === 'object' && 'round' in value && typeof value.round === 'number' ? value.round : 0

export class Progress {
  readonly #screen: Screen
  readonly #paint: Paint
  readonly #now: () => number
  readonly #options: ProgressOptions
  readonly #live: boolean
  #timer: NodeJS.Timeout | null = null
  #current: { label: string; since: number; told: number; message: string } | null = null
  #drawn = false
  #ticks = 0
  /** Lines wait for the facts that belong to them, so that they stay in order. */
  #lines: Promise<void> = Promise.resolve()

  constructor(options: ProgressOptions) {
    this.#options = options
    this.#screen = options.screen
    this.#paint = paintFor(options.screen, options.env)
    this.#now = options.now ?? Date.now
    this.#live = Boolean(options.screen.isTTY) && (options.env ?? process.env)['TERM'] !== 'dumb'
  }

  /** Takes an event of the engine. */
  readonly onEvent = (event: EngineEvent): void => {
    if (!SHOWN.has(event.state)) return
    switch (event.kind) {
      case 'entered':
        return this.begin(TURNS.has(event.state) ? `${event.state}, round ${roundOf(event.input)}` : event.state)
      case 'progress':
        if (this.#current) this.#current.message = event.message
        return
      case 'retried':
        return this.line(`  ${event.state} is tried again (${event.attempt}): ${event.error}`)
      case 'caught':
        return this.line(this.#paint('red', `  ${event.state} failed: ${event.error}`))
      case 'failed':
        return
      case 'left':
        if (event.state !== 'Park') this.#finish(event.state, event.output, event.milliseconds)
    }
  }

  /** Something began that may take long. */
  begin(label: string): void {
    this.#current = { label, since: this.#now(), told: 0, message: '' }
    this.#timer ??= setInterval(() => this.tick(), this.#live ? 120 : 500)
    this.#timer.unref()
    if (this.#live) this.#draw()
  }

  /** It ended, and nothing is said of it. */
  end(): void {
    this.#current = null
    this.#erase()
  }

  /** A line that stays. */
  line(text: string): void {
    this.#lines = this.#lines.then(() => this.#print(text))
  }

  /** Called by the timer. */
  tick(): void {
    const current = this.#current
    if (!current) return
    if (this.#live) return this.#draw()
    const taken = this.#now() - current.since
    if (taken < (current.told === 0 ? LIFE_MS : current.told + AGAIN_MS)) return
    current.told = taken
    this.#print(`  … ${current.label}: ${duration(taken)}${current.message ? `, ${oneLine(current.message)}` : ''}`)
  }

  /** Ends the display and waits for the lines that are under way. */
  async stop(): Promise<void> {
    this.end()
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
    await this.#lines
  }

  #finish(state: string, output: unknown, milliseconds: number): void {
    this.end()
    const facts = TURNS.has(state) ? this.#options.factsOf?.(state, output) : null
    this.#lines = this.#lines.then(async () => {
      const known = await facts?.catch(() => null)
      const parts = [
        this.#paint('bold', state.padEnd(8)),
        TURNS.has(state) ? `round ${known?.round ?? roundOf(output)}` : '       ',
        duration(milliseconds).padStart(9),
      ]
      if (known) parts.push(` ${known.mode.padEnd(9)}`, `${known.raised} found, ${known.fixed} fixed, ${known.open} open`)
      this.#print(`  ${parts.join('  ')}`.trimEnd())
    })
  }

  #print(text: string): void {
    this.#erase()
    this.#screen.write(`${redact(text)}\n`)
    if (this.#live && this.#current) this.#draw()
  }

  #erase(): void {
    if (!this.#drawn) return
    this.#screen.write('\r\u001b[2K')
    this.#drawn = false
  }

  #draw(): void {
    const current = this.#current
    if (!current) return
    const spin = SPINNER[this.#ticks++ % SPINNER.length]
    const text = `  ${spin} ${current.label}  ${duration(this.#now() - current.since)}${current.message ? `  ${oneLine(current.message)}` : ''}`
    this.#erase()
    this.#screen.write(this.#paint('cyan', redact(text).slice(0, Math.max(20, (this.#screen.columns ?? 80) - 1))))
    this.#drawn = true
  }
}
