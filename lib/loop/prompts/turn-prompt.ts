/** The prompts of a turn: pure functions of its task. From stable to volatile: policy, repository facts, the change, the history of rounds. */
import type { FixTask, ReviewTask, Task } from '../agent.ts'
import type { SkippedFile } from '../output.ts'
import { changedFiles, declinedLines, findingLines, instructionsFor, messageLines, noteLines, triedLines } from './facts.ts'
import { type Fence, withFence } from './fence.ts'
import { type Plan, planParts, type PromptBudget, type Shown } from './plan.ts'

export interface PromptOptions {
  runId: string
  turn: number
  budget: PromptBudget
  /** What the session was shown before; nothing where it begins. */
  shown?: Shown
}

export interface TurnPrompt {
  /** Messages to give one after the other, each answered before the next. An agent that takes one message a turn has a budget of one part. */
  parts: { text: string; shown: Shown }[]
  /** Changed files that no part shows whole: they go into the answer's `skipped`. */
  skipped: SkippedFile[]
}

/** What the session is given for a task of its turn. */
export const turnPrompt = (task: Task, options: PromptOptions): TurnPrompt => {
  const changed = task.kind === 'fix' ? changesOf(task) : task.diff
  // A fixer reads what it needs, and is given one message; only a look can be incomplete.
  const budget = task.kind === 'fix' ? { ...options.budget, parts: 1 } : options.budget
  const plan = planParts(changed, budget, options.shown)
  const parts = plan.parts.map((part, index) => ({
    shown: part.shown,
    text: withFence(`${options.runId}#${options.turn}#${index}`, (fence) => compose(fence, task, plan, index)),
  }))
  return { parts, skipped: task.kind === 'fix' ? [] : plan.skipped }
}

/** One request to put an answer right. It says nothing of the change: the session has seen it. */
export const repairPrompt = (problem: string, { runId, turn }: Pick<PromptOptions, 'runId' | 'turn'>): string =>
  withFence(`${runId}#${turn}#repair`, (fence) =>
    sections(
      keyLine(fence),
      `Your answer does not fit its schema:\n\n${fence.wrap('problem', problem)}`,
      'Answer again, whole, with all findings and accounts that still hold. There is no need to look at anything again, and no further chance.',
    ),
  )

/** A fixer is shown the change of the files that its findings are in. */
const changesOf = ({ diff, findings }: FixTask) => {
  const named = new Set(findings.map(({ file }) => file))
  return diff.filter(({ path }) => named.has(path))
}

const sections = (...texts: readonly (string | null)[]): string => texts.filter((text) => text !== null).join('\n\n')

const keyLine = ({ key }: Fence): string => `The key of the data in this message is ${key}.`

const compose = (fence: Fence, task: Task, plan: Plan, index: number): string => {
  const isFirst = index === 0
  const isLast = index === plan.parts.length - 1
  return sections(
    keyLine(fence),
    ...(isFirst ? facts(fence, task) : []),
    change(fence, plan, index),
    ...(isLast ? history(fence, task) : []),
    request(task, plan, index),
  )
}

const facts = (fence: Fence, task: Task): (string | null)[] => {
  const { policy, diff } = task
  const instructions = instructionsFor(policy, diff)
  const said = isNews(task) ? messageLines(task.messages) : null
  return [
    task.kind === 'fix' ? null : `Severities that stand in the way of approval: ${policy.block_on.join(', ') || 'none'}.`,
    instructions === null
      ? null
      : `What the repository's settings say of some of these paths. Take it as facts about the code:\n\n${fence.wrap('settings', instructions)}`,
    said === null
      ? null
      : `What the author wrote of the change, in the messages of its commits, the newest first. It says what is meant and not what is so; where the change does something else, say so:\n\n${fence.wrap('commit-messages', said)}`,
    `The change has ${counted(diff.length, 'file')}:\n\n${fence.wrap('changed-files', changedFiles(diff))}`,
  ]
}

/** A session that goes on has read what the author wrote. A fixer is not told: it mends what it is given. */
const isNews = (task: Task): task is ReviewTask => task.kind !== 'fix' && (task.kind !== 're-review' || task.handOver !== null)

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const change = (fence: Fence, { parts, unchanged }: Plan, index: number): string | null => {
  const { text } = parts[index] ?? { text: '' }
  const place = parts.length > 1 ? `, part ${index + 1} of ${parts.length}` : ''
  const known =
    index === 0 && unchanged.length > 0
      ? `The changes of ${counted(unchanged.length, 'file')} are as you have seen them before and are not shown again.`
      : null
  return known === null && text === ''
    ? null
    : sections(known, text === '' ? null : `The change against its base${place}:\n\n${fence.wrap('diff', text)}`)
}

const history = (fence: Fence, task: Task): (string | null)[] => {
  const tried = task.handOver ? triedLines(task.handOver, task) : null
  const declined = declinedLines(task)
  return [
    ...(task.kind === 'fix' ? given(fence, task) : outstanding(fence, task)),
    task.handOver ? `This run is in round ${task.handOver.round}; you come to it without a memory of the rounds before.` : null,
    tried === null ? null : `What was tried on these findings before:\n\n${fence.wrap('tried', tried)}`,
    declined === null
      ? null
      : `A person has declined these. Leave them alone, unless the code they are about has become worse:\n\n${fence.wrap('declined', declined)}`,
  ]
}

const given = (fence: Fence, { findings, notes }: FixTask): (string | null)[] => {
  const said = noteLines(notes, findings)
  return [
    `The findings to mend:\n\n${fence.wrap('findings', findingLines(findings))}`,
    said === null ? null : `Notes of a person on how to mend them:\n\n${fence.wrap('notes', said)}`,
  ]
}

const outstanding = (fence: Fence, { kind, outstanding: open }: ReviewTask): (string | null)[] => {
  if (kind === 'certify')
    return [
      'Part of this change was written by a machine, to mend what reviewers found. Read all of it as if it were new, by one author you do not know.',
    ]
  if (kind === 'review') return []
  return [open.length === 0 ? 'No finding is outstanding.' : `Outstanding findings:\n\n${fence.wrap('findings', findingLines(open))}`]
}

const REQUEST = {
  review: 'Review the change.',
  're-review': 'Review the change again: account for each outstanding finding by its id, then look at what is new.',
  certify: 'Review the change.',
  fix: 'Mend these findings.',
} as const

const request = ({ kind }: Task, { parts }: Plan, index: number): string => {
  if (index < parts.length - 1)
    return `Review this part of the change and report what you find in it. ${counted(parts.length - 1 - index, 'part')} will follow; accounts stays empty until the last.`
  return parts.length > 1 ? `${REQUEST[kind]} This is the last part; report what you find in it.` : REQUEST[kind]
}
