/** What any agent has to keep to, whatever runs behind it. */
import { describe, expect, it } from 'vitest'
import type { Agent, AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { fixOutput, reviewOutput } from '../../lib/loop/output.ts'
import { usage as usageSchema } from '../../lib/loop/record.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask, tracked } from './agent-turn.ts'
import { diffTrees, type MemoryFiles } from './memory-files.ts'

export interface AgentFixtures {
  base: MemoryFiles
  /** With at least one defect in two files or more, which the agent finds and can fix. */
  head: MemoryFiles
  /** A turn on which the agent stops at a checkpoint; left out where it has no such capability. */
  toCheckpoint?: (turn: AgentTurn) => AgentTurn
  /** A turn that keeps the agent busy for long. */
  busy: (turn: AgentTurn) => AgentTurn
}

const isDone = (result: AgentResult): Extract<AgentResult, { kind: 'done' }> => {
  if (result.kind !== 'done') throw new Error(`ended as ${result.kind}: ${'reason' in result ? result.reason : ''}`)
  return result
}

export const describeAgentContract = (name: string, make: () => Promise<Agent>, fixtures: AgentFixtures): void => {
  const diff = diffTrees(fixtures.base, fixtures.head)
  const ID = '7d9f6f0e-6a5e-4c39-9d7c-1f0c7a3f1a11'
  const reviewing = (more: Partial<AgentTurn> = {}): AgentTurn => agentTurn(reviewTask(diff), fixtures.head.copy(), more)

  const begin = async (agent: Agent): Promise<{ entries: unknown[]; id: string; output: unknown }> => {
    const transcript = new MemoryTranscript()
    const session = { mode: 'start' as const, id: agent.capabilities.ownIds ? ID : null }
    const { sessionId, output } = isDone(await agent.run(reviewing({ session, transcript })))
    return { entries: transcript.entries, id: sessionId ?? '', output }
  }
  let first: ReturnType<typeof begin> | null = null
  /** A first review in a session, done once for all tests; each gets a transcript of its own. */
  const started = async (agent: Agent): Promise<{ transcript: MemoryTranscript; id: string; output: unknown }> => {
    first ??= begin(agent)
    const { entries, id, output } = await first
    return { transcript: new MemoryTranscript(entries), id, output }
  }

  describe(`agent contract: ${name}`, () => {
    it('answers a review by the schema', async () => {
      const agent = await make()
      const result = isDone(await agent.run(reviewing()))
      expect(reviewOutput.safeParse(result.output).error).toBeUndefined()
      expect(reviewOutput.parse(result.output).findings.length).toBeGreaterThan(0)
    })

    it('answers a fix by the schema, with a result for each finding', async () => {
      const agent = await make()
      const files = fixtures.head.copy()
      const findings = tracked(reviewOutput.parse(isDone(await agent.run(reviewing())).output).findings, files)
      const result = isDone(await agent.run(agentTurn(fixTask(diff, findings), files, { turn: 2 })))
      expect(fixOutput.parse(result.output).results.map(({ id }) => id)).toEqual(findings.map(({ id }) => id))
      expect(files.touched.length).toBeGreaterThan(0)
    })

    it('names no session where it was given none', async () => {
      expect(isDone(await (await make()).run(reviewing())).sessionId).toBeNull()
    })

    it('names the session it started: ours where ids are ours to choose', async () => {
      const agent = await make()
      const { id } = await started(agent)
      expect(id).toMatch(agent.capabilities.ownIds ? new RegExp(`^${ID}$`, 'u') : /./u)
    })

    it('makes an id of its own where none is given', async () => {
      const { sessionId } = isDone(await (await make()).run(reviewing({ session: { mode: 'start', id: null } })))
      expect(sessionId).toMatch(/./u)
    })

    it('resumes a session under the same id, in another process of the same version', async () => {
      const { transcript, id } = await started(await make())
      const again = isDone(
        await (
          await make()
        ).run(reviewing({ turn: 3, session: { mode: 'resume', id }, transcript: new MemoryTranscript(transcript.entries) })),
      )
      expect(again.sessionId).toBe(id)
    })

    it.each([
      ['empty', () => []],
      ['cut at its head', (entries: unknown[]) => entries.slice(1)],
      [
        'of another session',
        (entries: unknown[]) => entries.map((entry) => ({ ...(entry as object), ...('id' in (entry as object) ? { id: 'other' } : {}) })),
      ],
      ['damaged in an entry', (entries: unknown[]) => [...entries.slice(0, -1), { nonsense: true }]],
      ['no transcript of an agent at all', () => ['text', 7, null]],
    ])('reports a session as lost whose transcript is %s', async (_what, damage) => {
      const agent = await make()
      if (!agent.capabilities.resume) return
      const { transcript, id } = await started(agent)
      const result = await agent.run(
        reviewing({ turn: 3, session: { mode: 'resume', id }, transcript: new MemoryTranscript(damage(transcript.entries)) }),
      )
      expect(result.kind).toBe('session_lost')
    })

    it('does not take the session of the other role', async () => {
      const agent = await make()
      const { transcript, id } = await started(agent)
      const result = await agent.run(
        agentTurn(fixTask(diff, []), fixtures.head.copy(), { turn: 2, session: { mode: 'resume', id }, transcript }),
      )
      expect(result.kind).toBe('session_lost')
    })

    it('edits nothing as a reviewer', async () => {
      const files = fixtures.head.copy()
      isDone(await (await make()).run(agentTurn(reviewTask(diff), files)))
      expect(files.touched).toEqual([])
    })

    it('gives up quickly when it is interrupted, before and while it works', async () => {
      const agent = await make()
      const before = await agent.run(reviewing({ signal: AbortSignal.abort() }))
      expect(before).toMatchObject({ kind: 'failed', error: 'AgentCancelled' })
      const controller = new AbortController()
      const running = agent.run(fixtures.busy(reviewing({ signal: controller.signal })))
      setTimeout(() => controller.abort(), 50)
      expect(await running).toMatchObject({ kind: 'failed', error: 'AgentCancelled' })
    })

    it('says what it used, whatever becomes of the turn', async () => {
      const agent = await make()
      const lost = reviewing({ session: { mode: 'resume', id: ID } })
      for (const turn of [reviewing(), reviewing({ signal: AbortSignal.abort() }), lost]) {
        const { usage } = await agent.run(turn)
        expect(usageSchema.safeParse(usage).error).toBeUndefined()
        expect(usage.calls).toBeGreaterThanOrEqual(1)
      }
    })

    it('answers rather than throws when its tools do', async () => {
      const files = fixtures.head.copy()
      const broken = {
        ...reviewing(),
        files: { list: () => Promise.reject(new Error('broken')), read: () => Promise.reject(new Error('broken')) },
      }
      expect(['done', 'failed']).toContain((await (await make()).run(broken)).kind)
      const edits = {
        write: () => Promise.reject(new Error('broken')),
        edit: () => Promise.reject(new Error('broken')),
        remove: () => Promise.reject(new Error('broken')),
      }
      const agent = await make()
      const findings = tracked(reviewOutput.parse(isDone(await agent.run(reviewing())).output).findings, files)
      expect((await agent.run(agentTurn(fixTask(diff, findings), files, { turn: 2, edits }))).kind).toBe('failed')
    })

    it('goes on after a checkpoint in the same session, to the answer it would have given', async () => {
      const agent = await make()
      if (!agent.capabilities.checkpoint || !fixtures.toCheckpoint) return
      const { output } = await started(agent)
      const transcript = new MemoryTranscript()
      const session = { mode: 'start' as const, id: agent.capabilities.ownIds ? ID : null }
      const stopped = await agent.run(fixtures.toCheckpoint(reviewing({ session, transcript })))
      if (stopped.kind !== 'checkpoint') throw new Error(`ended as ${stopped.kind}`)
      const next = reviewing({ turn: 2, session: { mode: 'resume', id: stopped.sessionId }, transcript })
      const result = isDone(await (await make()).run({ ...next, prompt: { kind: 'continue', task: next.prompt.task } }))
      expect(result.sessionId).toBe(stopped.sessionId)
      expect(reviewOutput.parse(result.output).findings).toEqual(reviewOutput.parse(output).findings)
    })
  })
}
