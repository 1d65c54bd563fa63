/**
 * An agent that looks for `BAD<n>;` in the files and puts it right, in ways that the seed chooses: overlooking, doing nothing, breaking
 * something else, losing its session, stopping half-way. In its transcript stands what nobody else may see.
 */
import type { Agent, AgentResult, AgentTurn } from '../../../lib/loop/agent.ts'
import type { FindingDraft } from '../../../lib/loop/finding.ts'
import type { Usage } from '../../../lib/loop/record.ts'
import { workers } from './effect.ts'
import type { World } from './world.ts'

const USAGE: Usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: null, dollars: null, calls: 1 }
const DEFECT = /BAD(\d+);/g

type Trouble =
  | 'lost'
  | 'other-id'
  | 'AgentThrottled'
  | 'AgentOverloaded'
  | 'AgentTimedOut'
  | 'AgentFailed'
  | 'refused'
  | 'malformed'
  | 'garbage'
  | 'limit'
  | 'unread'

export const seededAgent = (world: World): Agent => ({
  id: 'seeded',
  version: '1',
  capabilities: { resume: world.plan.agent.resume, ownIds: world.plan.agent.ownIds, structuredOutput: true, checkpoint: true, edits: true },
  run: (turn) => new Call(world, turn).run(),
})

class Call {
  readonly #world: World
  readonly #turn: AgentTurn
  readonly #name: string
  readonly #id: string | null
  readonly #complaint: string

  constructor(world: World, turn: AgentTurn) {
    const what = `${world.tag(turn.runId)} ${turn.role} ${turn.turn}`
    this.#world = world
    this.#turn = turn
    this.#name = `${what} call ${world.nth(`call ${what}`)}`
    const { session } = turn
    this.#id = session.mode === 'none' ? null : (session.id ?? this.#newId())
    // Agents name the session that they were asked to go on with when they complain.
    this.#complaint = session.mode === 'none' || session.id === null ? 'as the seed says' : `as the seed says, in session ${session.id}`
  }

  #newId(): string {
    const { runId, role } = this.#turn
    const id = `SID-${this.#world.tag(runId)}-${role}-${this.#world.nth('session')}`
    this.#world.monitor.secrets.session(id, { runId, role })
    return id
  }

  #happens(probability: number, ...of: (string | number)[]): boolean {
    return !this.#world.calm && this.#world.chance.happens(probability, this.#name, ...of)
  }

  #say(part: string): void {
    const { role, runId, turn, transcript } = this.#turn
    transcript.append({ part, text: this.#world.monitor.secrets.canary({ role, runId, turn }) })
  }

  async run(): Promise<AgentResult> {
    const { monitor, chance, plan } = this.#world
    const { signal, deadline, role, runId, progress } = this.#turn
    monitor.agentCalled(this.#turn)
    this.#say('asked')
    progress('reading')
    this.#world.clock += chance.int(5, 240, this.#name, 'works') * 1000
    if (signal.aborted) return this.#failed('AgentCancelled')
    if (this.#world.clock >= deadline) return this.#failed('AgentTimedOut')
    const result = await this.#answer()
    this.#say('answered')
    if (result.kind === 'checkpoint') monitor.secrets.session(result.sessionId, { runId, role })
    if (this.#happens(plan.agent.trouble / 3, 'resets')) this.#turn.transcript.reset()
    return result
  }

  #failed(error: Extract<AgentResult, { kind: 'failed' }>['error']): AgentResult {
    this.#world.monitor.excuses.add(error)
    return { kind: 'failed', error, reason: this.#complaint, usage: USAGE }
  }

  async #answer(): Promise<AgentResult> {
    const { plan } = this.#world
    const { role, prompt, edits } = this.#turn
    if (this.#happens(plan.agent.checkpoint, 'checkpoint')) {
      if (edits) await edits.write('notes.txt', Buffer.from(`${this.#world.tag(this.#turn.runId)}\n`))
      return { kind: 'checkpoint', usage: USAGE, sessionId: this.#id ?? this.#newId() }
    }
    const trouble = this.#happens(plan.agent.trouble, 'trouble') ? this.#trouble() : null
    const early = trouble && this.#early(trouble)
    if (early) return early
    const output = trouble === 'garbage' || (trouble === 'malformed' && prompt.kind !== 'repair') ? { findings: 'none' } : null
    const answer = output ?? (role === 'fixer' ? await this.#fix() : await this.#look(trouble === 'unread'))
    const sessionId = trouble === 'other-id' && this.#id !== null ? this.#newId() : this.#id
    if (trouble === 'limit') return { kind: 'limit', limit: 'tokens', usage: USAGE, sessionId }
    return { kind: 'done', output: answer, usage: USAGE, sessionId }
  }

  #trouble(): Trouble {
    const isResumed = this.#turn.session.mode === 'resume'
    const weights = { lost: isResumed ? 6 : 0, 'other-id': isResumed ? 4 : 0, AgentThrottled: 3, AgentOverloaded: 3, AgentTimedOut: 1 }
    const rare = { AgentFailed: 0.5, refused: 0.3, malformed: 3, garbage: 0.3, limit: 0.5, unread: 0.5 }
    return this.#world.chance.weighted<Trouble>({ ...weights, ...rare }, this.#name, 'which trouble')
  }

  #early(trouble: Trouble): AgentResult | null {
    const { excuses } = this.#world.monitor
    switch (trouble) {
      case 'lost':
        // Lost between an answer and its repair, it was not one that was attached.
        excuses.add('AgentFailed')
        return { kind: 'session_lost', reason: this.#complaint, usage: USAGE }
      case 'refused':
        excuses.add('AgentRefused')
        return { kind: 'refused', reason: this.#complaint, usage: USAGE }
      case 'garbage':
      case 'malformed':
        excuses.add('AgentOutputInvalid')
        return null
      case 'other-id':
        // Where it was thrown away and a fresh session fails in turn, the agent has failed.
        excuses.add('AgentFailed')
        return null
      case 'limit':
      case 'unread':
        return null
      default:
        return this.#failed(trouble)
    }
  }

  async #defects(): Promise<{ file: string; line: number; defect: string }[]> {
    const { files } = this.#turn
    const found = []
    for (const file of (await files.list()).filter((path) => path.endsWith('.js'))) {
      const lines = new TextDecoder().decode((await files.read(file)) ?? new Uint8Array()).split('\n')
      for (const [at, line] of lines.entries()) for (const [, n] of line.matchAll(DEFECT)) found.push({ file, line: at + 1, defect: n! })
    }
    return found
  }

  #draft(file: string, line: number, defect: string): FindingDraft {
    const { chance } = this.#world
    return {
      rule: `bad-${defect}`,
      severity: chance.weighted({ error: 5, warning: 3, info: 1 }, 'severity', defect),
      action: chance.weighted({ 'auto-fix': 8, 'ask-user': 1.5, 'no-op': 0.5 }, 'action', defect),
      file,
      line,
      text: `BAD${defect} is bad`,
    }
  }

  async #look(unread: boolean): Promise<unknown> {
    const { plan, monitor } = this.#world
    const { prompt, role, runId } = this.#turn
    const defects = await this.#defects()
    const outstanding = prompt.task.kind === 're-review' ? prompt.task.outstanding : []
    const known = new Set(outstanding.map(({ rule }) => rule))
    const isBlind = (defect: string) => role === 'reviewer' && this.#happens(plan.agent.blind, 'overlooks', defect)
    const seen = defects.filter(({ defect }) => !isBlind(defect))
    const findings = seen
      .filter(({ defect }) => !known.has(`bad-${defect}`))
      .map(({ file, line, defect }) => this.#draft(file, line, defect))
    const accounts = outstanding.map(({ id, rule }) => ({
      id,
      status: seen.some(({ defect }) => rule === `bad-${defect}`) ? ('open' as const) : ('fixed' as const),
    }))
    const skipped = unread ? [{ file: 'a.js', reason: 'not today' }] : []
    const blocks = ({ severity, action }: FindingDraft) => severity !== 'info' || action === 'ask-user'
    if (role === 'certifier')
      monitor.certified.push({
        runId,
        commit: workers.getStore()?.commit ?? '',
        blocking: [...findings.filter(blocks).map(({ rule }) => rule), ...(unread ? ['not-reviewed'] : [])],
      })
    return { findings, accounts, skipped, summary: `found ${findings.length}` }
  }

  async #fix(): Promise<unknown> {
    const { plan, chance } = this.#world
    const { prompt, files, edits } = this.#turn
    const given = prompt.task.kind === 'fix' ? prompt.task.findings : []
    if (this.#happens(plan.agent.idle, 'idle')) {
      return { results: given.map(({ id }) => ({ id, status: 'not-fixed', note: 'not today' })), summary: 'nothing done' }
    }
    for (const { file, rule } of given) {
      const text = new TextDecoder().decode((await files.read(file)) ?? new Uint8Array())
      const defect = /^bad-(\d+)$/.exec(rule)?.[1]
      const breaks = defect !== undefined && defect.length < 3 && this.#happens(plan.agent.breaks, 'breaks', rule)
      const better = breaks ? `BAD${defect}${chance.int(1, 9, 'new defect', defect)};` : 'good;'
      const next = defect === undefined ? `${text}as asked\n` : text.replace(`BAD${defect};`, better)
      await edits?.write(file, Buffer.from(next))
    }
    return { results: given.map(({ id }) => ({ id, status: 'fixed' })), summary: 'mended' }
  }
}
