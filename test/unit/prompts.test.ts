/** The prompts as final text. A change to one is a change to its golden file, and raises the version. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { HandOver, Task } from '../../lib/loop/agent.ts'
import type { TrackedFinding } from '../../lib/loop/finding.ts'
import { policy } from '../../lib/loop/policy.ts'
import { answerOf, answerSchema } from '../../lib/loop/prompts/answer-schema.ts'
import { PROMPTS_VERSION, SYSTEM } from '../../lib/loop/prompts/system.ts'
import { repairPrompt, turnPrompt } from '../../lib/loop/prompts/turn-prompt.ts'
import { TURN_ROLES } from '../../lib/names.ts'
import { fixTask, reviewTask } from '../support/agent-turn.ts'
import { diffTrees, fileDiff, MemoryFiles } from '../support/memory-files.ts'
import { aFinding } from '../support/runs.ts'

const golden = (name: string): string => fileURLToPath(new URL(`../golden/prompts/${name}.txt`, import.meta.url))

const DIFF = [
  ...diffTrees(
    new MemoryFiles({ 'src/pay.ts': 'export const pay = (sum: number) => charge(sum)\n', 'docs/pay.md': '# Paying\n' }),
    new MemoryFiles({
      'src/pay.ts': 'export const pay = (sum: string) => charge(eval(sum))\nexport const log = console.log\n',
      'docs/pay.md': '# Paying\n\nBy `pay`.\n',
    }),
  ),
  fileDiff('logo.png', '', '', { status: 'modified', omitted: 'binary', hunks: [] }),
]
const OPEN: TrackedFinding = {
  ...aFinding('f-00000000aa'),
  file: 'src/pay.ts',
  history: [
    { event: 'raised', turn: 1, round: 0 },
    { event: 'still-open', turn: 3, round: 1, note: 'what the reviewer noted' },
  ],
}
const HAND_OVER: HandOver = {
  round: 2,
  outstanding: [OPEN],
  tried: [{ id: OPEN.id, commit: 'c'.repeat(40), note: null }],
  declined: [{ id: 'f-00000000bb', rule: 'no-log', file: 'src/pay.ts', text: 'It logs.', note: 'wanted' }],
}
const POLICY = policy.parse({
  path_instructions: [
    { path: 'src/**', instructions: 'Sums are in cents.' },
    { path: 'other/**', instructions: 'Not about this change.' },
  ],
})

const MESSAGES = ['Take sums as text\n\nThe form sends them so.', 'Log what is paid']
const TASKS: Record<string, Task> = {
  review: { ...reviewTask(DIFF), policy: POLICY, messages: MESSAGES },
  're-review': { ...reviewTask(DIFF, [OPEN]), policy: POLICY, messages: MESSAGES, declined: HAND_OVER.declined },
  're-review-after-a-lost-session': {
    ...reviewTask(DIFF, [OPEN]),
    policy: POLICY,
    messages: MESSAGES,
    declined: HAND_OVER.declined,
    handOver: HAND_OVER,
  },
  're-review-with-nothing-outstanding': { ...reviewTask(DIFF, [], 're-review'), policy: POLICY },
  certify: { ...reviewTask(DIFF, [], 'certify'), policy: POLICY, messages: MESSAGES },
  fix: { ...fixTask(DIFF, [OPEN], { notes: { '': 'be quick', [OPEN.id]: 'parse it', 'f-ffffffffff': 'of another' } }), policy: POLICY },
  'fix-after-a-lost-session': { ...fixTask(DIFF, [OPEN]), policy: POLICY, handOver: HAND_OVER },
}
const OPTIONS = { runId: 'r-0123456789abcdef', turn: 4, budget: { part: 10_000, parts: 4 } }
const textOf = (task: Task, options = {}): string =>
  turnPrompt(task, { ...OPTIONS, ...options })
    .parts.map(({ text }) => text)
    .join('\n\n=== next message ===\n\n')

describe('prompts as they are sent', () => {
  it.each(TURN_ROLES)('system text of the %s', async (role) => {
    await expect(`${PROMPTS_VERSION}\n\n${SYSTEM[role]}\n`).toMatchFileSnapshot(golden(`system-${role}`))
  })

  it.each(Object.keys(TASKS))('task: %s', async (name) => {
    const task = TASKS[name]
    if (!task) throw new Error(name)
    await expect(`${PROMPTS_VERSION}\n\n${textOf(task)}\n`).toMatchFileSnapshot(golden(name))
  })

  it('a change in parts', async () => {
    const big = [...DIFF, fileDiff('src/auth.ts', null, 'let a = 1\n'.repeat(40))]
    await expect(`${PROMPTS_VERSION}\n\n${textOf(reviewTask(big, [OPEN]), { budget: { part: 150, parts: 3 } })}\n`).toMatchFileSnapshot(
      golden('parts'),
    )
  })

  it('a repair', async () => {
    await expect(`${PROMPTS_VERSION}\n\n${repairPrompt('✖ Invalid input\n  → at findings', OPTIONS)}\n`).toMatchFileSnapshot(
      golden('repair'),
    )
  })

  it('answers have a strict schema', async () => {
    const schemas = { review: answerSchema({ kind: 'review' }), fix: answerSchema({ kind: 'fix' }) }
    await expect(`${JSON.stringify(schemas, null, 2)}\n`).toMatchFileSnapshot(golden('answer-schemas'))
  })
})

describe('what a prompt says', () => {
  it('is the same for the same task, and under another key in another turn', () => {
    const task = TASKS['review']!
    expect(textOf(task)).toBe(textOf(task))
    const keys = [OPTIONS, { ...OPTIONS, turn: 5 }, { ...OPTIONS, runId: 'r-ffffffffffffffff' }].map(
      (options) => /key of the data in this message is (\S+)\./.exec(textOf(task, options))?.[1],
    )
    expect(new Set(keys).size).toBe(3)
  })

  it('goes from what is stable to what changes with every turn', () => {
    const text = textOf(TASKS['re-review-after-a-lost-session']!)
    const places = [
      'Severities that stand',
      'Sums are in cents',
      'What the author wrote of the change',
      'The change has 3 files',
      'The change against its base',
      'Outstanding findings',
    ]
    const order = places.map((place) => text.indexOf(place))
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(order).not.toContain(-1)
  })

  it('has no word of a role in it that says something to itself', () => {
    for (const task of Object.values(TASKS)) expect(textOf(task)).not.toContain('what the reviewer noted')
  })

  it('gives the fixer the change of the files its findings are in, and notes on these findings alone', () => {
    const text = textOf(TASKS['fix']!)
    expect(text).toContain('eval(sum)')
    expect(text).not.toContain('By `pay`')
    expect(text).not.toContain('of another')
  })

  it('tells a reader that begins what the author wrote, one that goes on not again, and a fixer never', () => {
    const told = Object.keys(TASKS).filter((name) => textOf(TASKS[name]!).includes('Take sums as text'))
    expect(told).toEqual(['review', 're-review-after-a-lost-session', 'certify'])
  })

  it('holds of what the author wrote no more than has room, the newest first', () => {
    const many = Array.from({ length: 50 }, (_, at) => `${at} ${'x'.repeat(990)}`)
    const text = textOf({ ...reviewTask(DIFF), messages: many })
    expect(text).toContain(JSON.stringify(many[11]))
    expect(text).not.toContain('"12 x')
    expect(text).toContain('and older ones')
  })

  it('tells a reviewer what a person has declined, though its session goes on, and a certifier nothing of it', () => {
    expect(textOf(TASKS['re-review']!)).toContain('A person has declined these')
    expect(textOf(TASKS['certify']!)).not.toContain('declined')
  })

  it('leaves out what the session has seen, and says so', () => {
    const first = turnPrompt(TASKS['review']!, OPTIONS)
    const [shown] = first.parts.map((part) => part.shown)
    const again = turnPrompt(TASKS['re-review']!, { ...OPTIONS, turn: 5, shown: shown ?? {} }).parts[0]?.text
    expect(again).not.toContain('eval(sum)')
    expect(again).toContain('The changes of 2 files are as you have seen them before')
    const altered = reviewTask([fileDiff('src/pay.ts', 'a\n', 'eval(b)\n'), ...DIFF.filter(({ path }) => path !== 'src/pay.ts')], [OPEN])
    const later = turnPrompt(altered, { ...OPTIONS, turn: 5, shown: shown ?? {} }).parts[0]
    expect(later?.text).toContain('eval(b)')
    expect(later?.text).not.toContain('By `pay`')
    expect(Object.keys(later?.shown ?? {})).toEqual(['src/pay.ts'])
  })

  it('answers by a strict schema come back as the loop wants them', () => {
    expect(answerOf({ findings: [{ rule: 'a', line: null, endLine: 3, tags: [null, { b: null }] }], summary: '' })).toEqual({
      findings: [{ rule: 'a', endLine: 3, tags: [null, {}] }],
      summary: '',
    })
  })
})
