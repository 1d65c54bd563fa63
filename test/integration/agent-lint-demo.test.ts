/** The lint agent over the demo's trees, round by round, as the loop drives it. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createLintAgent } from '../../lib/agents/lint/agent.ts'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import type { FindingDraft } from '../../lib/loop/finding.ts'
import { fixOutput, reviewOutput, type ReviewOutput } from '../../lib/loop/output.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask, tracked } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'

const folder = (name: string): string => fileURLToPath(new URL(`../../examples/demo/${name}`, import.meta.url))
const agent = createLintAgent()
const isBlocking = ({ severity }: FindingDraft): boolean => severity !== 'info'

/** One session a role; ends when nothing blocking is left that could be fixed. */
class Rounds {
  readonly base = MemoryFiles.from(folder('base'))
  readonly head: MemoryFiles
  readonly #transcripts = { reviewer: new MemoryTranscript(), fixer: new MemoryTranscript() }
  #turn = 0

  constructor(head: MemoryFiles) {
    this.head = head
  }

  async #run(turn: AgentTurn): Promise<unknown> {
    const result = await agent.run(turn)
    if (result.kind !== 'done') throw new Error(result.kind)
    return result.output
  }

  #session(role: 'reviewer' | 'fixer'): Pick<AgentTurn, 'turn' | 'transcript' | 'session'> {
    const transcript = this.#transcripts[role]
    return { turn: ++this.#turn, transcript, session: { mode: transcript.entries.length > 0 ? 'resume' : 'start', id: role } }
  }

  async review(): Promise<ReviewOutput> {
    return reviewOutput.parse(await this.#run(agentTurn(reviewTask(diffTrees(this.base, this.head)), this.head, this.#session('reviewer'))))
  }

  async certify(): Promise<ReviewOutput> {
    return reviewOutput.parse(await this.#run(agentTurn(reviewTask(diffTrees(this.base, this.head), [], 'certify'), this.head)))
  }

  /** Fixes what may be; gives what was said of it. */
  async fix(findings: FindingDraft[]): Promise<string[]> {
    const given = tracked(findings, this.head).filter((finding) => isBlocking(finding) && finding.action === 'auto-fix')
    const task = fixTask(diffTrees(this.base, this.head), given)
    return fixOutput.parse(await this.#run(agentTurn(task, this.head, this.#session('fixer')))).results.map(({ status }) => status)
  }
}

describe('the demo', () => {
  it('has a base in which there is nothing to find', async () => {
    const rounds = new Rounds(MemoryFiles.from(folder('base')))
    const all = reviewOutput.parse(
      ((await agent.run(agentTurn(reviewTask(diffTrees(new MemoryFiles(), rounds.base)), rounds.base))) as { output: unknown }).output,
    )
    expect(all).toMatchObject({ findings: [], skipped: [] })
  })

  it('is clean and certified after two rounds of fixes, with notes left over', async () => {
    const rounds = new Rounds(MemoryFiles.from(folder('head')))
    const first = await rounds.review()
    expect(first.skipped).toEqual([])
    expect(new Set(first.findings.map(({ file }) => file))).toEqual(
      new Set(['README.md', 'data/rates.json', 'src/cli.js', 'src/invoice.ts', 'tools/import_rates.py', 'web/invoice.css']),
    )
    expect(first.findings.filter(isBlocking).every(({ action }) => action === 'auto-fix')).toBe(true)
    expect(new Set(await rounds.fix(first.findings))).toEqual(new Set(['fixed']))

    const second = await rounds.review()
    expect(second.findings.filter(isBlocking).map(({ file, rule }) => `${file} ${rule}`)).toEqual([
      'src/invoice.ts prefer-const',
      'src/invoice.ts prefer-const',
    ])
    expect(second.summary).toContain('Linted 4 of 6 files, 2 unchanged')
    expect(await rounds.fix(second.findings)).toEqual(['fixed', 'fixed'])

    const third = await rounds.review()
    expect(third.findings.filter(isBlocking)).toEqual([])
    expect(third.summary).toContain('Linted 1 of 6 files, 5 unchanged')
    const certified = await rounds.certify()
    expect(certified.findings).toEqual(third.findings)
    expect(certified.findings.map(({ rule }) => rule).toSorted()).toEqual([
      'css/no-invalid-properties',
      'json/no-empty-keys',
      'markdown/table-column-count',
      'ruff/E722',
    ])
  })

  it('has a stubborn defect that only a person can decide on', async () => {
    const rounds = new Rounds(MemoryFiles.from(folder('head'), folder('stubborn')))
    const { findings } = await rounds.review()
    expect(findings.filter((finding) => isBlocking(finding) && finding.action !== 'auto-fix')).toMatchObject([
      { rule: 'json/no-duplicate-keys', file: 'data/rates.json', severity: 'error', action: 'ask-user', line: 6 },
    ])
  })
})
