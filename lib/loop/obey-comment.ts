/** A command in a comment on a pull request: who wrote it, whether they may, and which run they mean. */
import { readJson } from './artifact.ts'
import { type CommentCommand, parseCommand } from './comment-command.ts'
import { readRun } from './current-run.ts'
import { decideRun } from './decide.ts'
import type { Answer } from './decision.ts'
import { startFromDoor } from './door.ts'
import { abortRun } from './end-run.ts'
import { LoopError } from './errors.ts'
import { byName, type CommentIntent } from './hook.ts'
import type { DeliveryAnswer, RunItem } from './items.ts'
import type { Ports } from './ports.ts'
import type { PullRequests } from './pulls.ts'
import { runRecord } from './record.ts'
import { branchKeyOf } from './run-id.ts'
import type { StartPorts } from './start.ts'

export type WebhookPorts = StartPorts & Pick<Ports, 'artifacts'> & { pulls: PullRequests }

/** Errors: BadRequest, NotPermitted, RunNotFound, StaleDecision, and those of `decideRun`, `abortRun` and `startFromDoor`. */
export const obeyComment = async (ports: WebhookPorts, intent: CommentIntent): Promise<DeliveryAnswer> => {
  const command = parseCommand(intent.text)
  if (!command) return { outcome: 'ignored', runId: null, why: 'the comment is no command' }
  const { repository, by, pull: number } = intent
  if (!intent.owns && !(await ports.pulls.mayWrite(repository, by)))
    throw new LoopError('NotPermitted', `${by} may not write to ${repository.url}.`)
  const pull = await ports.pulls.pull(repository, number)
  if (!pull?.open) throw new LoopError('BranchGone', `There is no open pull request ${number} in ${repository.url}.`)
  if (pull.fork) return { outcome: 'ignored', runId: null, why: 'the pull request comes from a fork: forks are not reviewed' }

  if (command.kind === 'run') {
    const body = { repository: repository.url, branch: pull.branch, base: pull.base, again: true }
    const { run, started } = await startFromDoor(ports, { body, startedBy: byName(by) })
    return { outcome: started ? 'started' : 'known', runId: run.runId, why: null }
  }
  const run = await runOn(ports, repository.url, pull.branch)
  if (command.kind === 'abort') {
    assertSeen(run, run.createdAt, intent.at)
    await abortRun(ports, run.runId, byName(by))
    return { outcome: 'aborted', runId: run.runId, why: null }
  }
  if (run.status !== 'parked' || !run.question) throw new LoopError('StaleDecision', `Run ${run.runId} asks nothing.`)
  assertSeen(run, run.question.askedAt, intent.at)
  await decideRun(ports, run.runId, { question: run.question.id, answer: await answerOf(ports, run, command), by: byName(by) })
  return { outcome: 'decided', runId: run.runId, why: null }
}

/** The run that is under way on the branch. */
const runOn = async (ports: WebhookPorts, url: string, branch: string): Promise<RunItem> => {
  const active = (await ports.runs.branches.read(branchKeyOf(url, branch)))?.active
  if (!active) throw new LoopError('RunNotFound', `No run is under way on ${branch}.`)
  return readRun(ports.runs, active)
}

/** Nobody answers what was asked after they wrote. The forge tells whole seconds. */
const assertSeen = (run: RunItem, asked: string, writtenAt: number): void => {
  if (Math.floor(Date.parse(asked) / 1000) * 1000 > writtenAt)
    throw new LoopError('StaleDecision', `The comment is older than what run ${run.runId} asks.`, { runId: run.runId })
}

const answerOf = async (
  ports: WebhookPorts,
  run: RunItem,
  command: Exclude<CommentCommand, { kind: 'run' | 'abort' }>,
): Promise<Answer> => {
  if (command.kind !== 'fix') return { kind: command.kind, ...(command.decline.length ? { decline: command.decline } : {}) }
  const { decline, note, notes, add } = command
  const findings = command.findings.length ? command.findings : await openOf(ports, run, decline)
  return { kind: 'fix', findings, decline, notes, add, ...(note === null ? {} : { note }) }
}

/** All that is open and not declined. */
const openOf = async (ports: WebhookPorts, { question }: RunItem, decline: readonly string[]): Promise<string[]> => {
  const { findings } = await readJson(ports.artifacts, question?.record ?? '', runRecord)
  return findings.filter(({ id, status }) => status === 'open' && !decline.includes(id)).map(({ id }) => id)
}
