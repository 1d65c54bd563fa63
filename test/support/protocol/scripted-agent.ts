/**
 * An agent that answers differently each time it is asked, so that a turn taken twice shows. What it appends to a transcript names
 * the call, so that a transcript tells which calls made it.
 */
import type { Agent, AgentResult, AgentTurn } from '../../../lib/loop/agent.ts'
import type { FindingDraft } from '../../../lib/loop/finding.ts'
import type { Usage } from '../../../lib/loop/record.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

const USAGE: Usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: null, dollars: null, calls: 1 }

type Trouble = 'lost' | 'other-id' | 'throttled' | 'overloaded' | 'timed-out' | 'failed' | 'refused' | 'malformed' | 'limit'

export class ScriptedAgent {
  readonly id = 'scripted'
  readonly #world: World
  #calls = 0
  #sessions = 0
  #edits = 0

  constructor(world: World) {
    this.#world = world
  }

  of(worker: Worker): Agent {
    return {
      id: this.id,
      version: '1',
      capabilities: { resume: true, ownIds: false, structuredOutput: true, checkpoint: true, edits: true },
      run: (turn) => this.#run(worker, turn),
    }
  }

  async #run(worker: Worker, turn: AgentTurn): Promise<AgentResult> {
    const { scheduler, monitor, random } = this.#world
    const call = ++this.#calls
    monitor.agentCalled(worker, turn, call)
    turn.transcript.append({ call, part: 'asked' })
    const seconds = random.chance(0.1) ? random.int(300, 1000) : random.int(5, 120)
    await scheduler.effect(worker, {
      what: `agent works at turn ${turn.turn} of the ${turn.role}`,
      writes: false,
      perform: () => {
        // Others go on meanwhile: only the worker's own time and the clock move.
        scheduler.now += seconds * 1000
      },
      lost: () => Object.assign(new Error('no answer'), { name: 'AgentOverloaded' }),
    })
    if (turn.signal.aborted || this.#world.now + worker.skew >= turn.deadline) return this.#failed('AgentTimedOut')
    const result = await this.#answer(turn)
    turn.transcript.append({ call, part: 'answered' })
    return result
  }

  #failed(error: Extract<AgentResult, { kind: 'failed' }>['error']): AgentResult {
    this.#world.monitor.excuse(error)
    return { kind: 'failed', error, reason: 'as the schedule says', usage: USAGE }
  }

  async #answer(turn: AgentTurn): Promise<AgentResult> {
    const { random, profile, fair, monitor } = this.#world
    const { session } = turn
    const sessionId = session.mode === 'none' ? null : (session.id ?? `s-${++this.#sessions}`)
    const done = async (): Promise<AgentResult> => ({
      kind: 'done',
      output: turn.role === 'fixer' ? await this.#fix(turn) : this.#look(turn),
      usage: USAGE,
      sessionId,
    })
    if (fair) return done()
    if (random.chance(profile.agent.checkpoint)) {
      if (turn.edits) await this.#edit(turn)
      return { kind: 'checkpoint', usage: USAGE, sessionId: sessionId ?? `c-${++this.#sessions}` }
    }
    if (!random.chance(profile.agent.trouble)) return done()
    const isResumed = session.mode === 'resume'
    const trouble = random.weighted<Trouble>({
      lost: isResumed ? 6 : 0,
      'other-id': isResumed ? 4 : 0,
      throttled: 3,
      overloaded: 3,
      'timed-out': 1,
      failed: 0.5,
      refused: 0.5,
      malformed: 1,
      limit: 1,
    })
    switch (trouble) {
      case 'lost':
        monitor.excuse('AgentFailed')
        return { kind: 'session_lost', reason: 'it is not there', usage: USAGE }
      case 'other-id':
        monitor.excuse('AgentFailed')
        return { kind: 'done', output: this.#look(turn), usage: USAGE, sessionId: `s-${++this.#sessions}` }
      case 'throttled':
        return this.#failed('AgentThrottled')
      case 'overloaded':
        return this.#failed('AgentOverloaded')
      case 'timed-out':
        return this.#failed('AgentTimedOut')
      case 'failed':
        return this.#failed('AgentFailed')
      case 'refused':
        monitor.excuse('AgentRefused')
        return { kind: 'refused', reason: 'as the schedule says', usage: USAGE }
      case 'malformed':
        monitor.excuse('AgentOutputInvalid')
        return { kind: 'done', output: { findings: 'none' }, usage: USAGE, sessionId }
      case 'limit':
        return { kind: 'limit', limit: 'tokens', usage: USAGE, sessionId }
    }
  }

  #look({ prompt: { task } }: AgentTurn): unknown {
    const { random, profile, fair } = this.#world
    const isClean = fair || random.chance(profile.agent.clean)
    const outstanding = task.kind === 're-review' ? task.outstanding : []
    const accounts = outstanding.flatMap(({ id }) => {
      const status = fair ? 'fixed' : random.weighted({ fixed: 6, open: 2, withdrawn: 1, silent: 1 })
      return status === 'silent' ? [] : [{ id, status }]
    })
    const findings: FindingDraft[] = isClean ? [] : Array.from({ length: random.int(1, 2) }, () => this.#finding())
    return { findings, accounts, skipped: [], summary: 'looked' }
  }

  #finding(): FindingDraft {
    const { random } = this.#world
    return {
      rule: `rule-${random.int(1, 4)}`,
      severity: random.weighted({ error: 3, warning: 2, info: 1 }),
      action: random.weighted({ 'auto-fix': 6, 'ask-user': 2, 'no-op': 1 }),
      file: 'a.js',
      line: 2,
      text: 'something is wrong',
    }
  }

  async #fix(turn: AgentTurn): Promise<unknown> {
    const { random, profile } = this.#world
    const isIdle = random.chance(profile.agent.idle)
    if (!isIdle) await this.#edit(turn)
    const { task } = turn.prompt
    const results = (task.kind === 'fix' ? task.findings : []).map(({ id }) => ({
      id,
      status: isIdle || random.chance(0.2) ? ('not-fixed' as const) : ('fixed' as const),
    }))
    return { results, summary: 'fixed' }
  }

  async #edit(turn: AgentTurn): Promise<void> {
    const bytes = (await turn.files.read('a.js')) ?? new Uint8Array()
    await turn.edits?.write('a.js', Buffer.concat([bytes, Buffer.from(`edit ${++this.#edits}\n`)]))
  }
}
