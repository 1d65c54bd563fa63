/** What people are told, by whole runs, and how it gets to the topic. */
import { type PublishCommand, SNSClient } from '@aws-sdk/client-sns'
import { describe, expect, it, vi } from 'vitest'
import { decideRun } from '../../lib/loop/decide.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import { budgetNotice, type Notice } from '../../lib/loop/notice.ts'
import { recordFailure } from '../../lib/loop/record-failure.ts'
import { startRun } from '../../lib/loop/start.ts'
import { ENV } from '../../lib/names.ts'
import { makeNotify } from '../../lib/runtime/notifier.ts'
import { driveUntil, takeStep } from '../support/drive.ts'
import { makePorts, stateOf } from '../support/ports.ts'
import { requestOf } from '../support/runs.ts'

const TOKEN = `ghp_${'a1'.repeat(18)}`

const begun = async (startedBy = 'ada', change = {}) => {
  const ports = makePorts()
  const { run } = await startRun(ports, { request: requestOf(change), startedBy, checkHead: false })
  return { ports, run, state: stateOf({ runId: run.runId, next: 'Prepare', commit: run.request.head }) }
}
const finds = (ports: ReturnType<typeof makePorts>, count = 1) =>
  ports.agent.script.push(
    ports.agent.done({
      findings: Array.from({ length: count }, (_, at) => ({
        rule: `rule-${at}`,
        severity: 'error' as const,
        action: 'ask-user' as const,
        file: 'a.js',
        line: 2,
        text: `const token = "${TOKEN}"`,
      })),
      accounts: [],
      skipped: [],
      summary: '',
    }),
  )

describe('people are told', () => {
  it('that a run waits: where, how much is open, until when, and how to answer', async () => {
    const { ports, run, state } = await begun()
    finds(ports, 12)
    await driveUntil(ports, state, 'Decide')
    expect(ports.notices).toHaveLength(1)
    const [notice] = ports.notices
    expect(notice).toMatchObject({ kind: 'parked', runId: run.runId, repository: run.request.repository })
    expect(notice?.text).toContain(`reviewloop decide ${run.runId}`)
    expect(notice?.text).toContain('/reviewloop approve')
    expect(notice?.text).toContain(ports.runs.runItems.get(run.runId)?.question?.expiresAt)
    expect(notice?.text).toContain('- and 2 more')
    expect(notice?.text).toMatch(/- error f-[0-9a-f]{10} a\.js:2 \(rule-0\)/)
  })

  it('no code, no words of an agent and no secret', async () => {
    const { ports, state } = await begun()
    finds(ports)
    await driveUntil(ports, state, 'Decide')
    expect(JSON.stringify(ports.notices)).not.toContain('const token')
    expect(JSON.stringify(ports.notices)).not.toContain(TOKEN)
  })

  it('nothing where the answer is there already, and nothing of a run that somebody started and that ended', async () => {
    const { ports, run, state } = await begun()
    finds(ports)
    const asking = await driveUntil(ports, state, 'Decide')
    await decideRun(ports, run.runId, { answer: { kind: 'skip' }, by: 'ada' })
    ports.notices.length = 0
    await takeStep(ports, { ...asking.state, next: 'Park' })
    await driveUntil(ports, asking.state, 'Done')
    expect(ports.notices).toEqual([])
  })

  it('that a run failed, why, and what to do', async () => {
    const { ports, run, state } = await begun()
    const failed = await recordFailure(ports, { ...state, error: { Error: 'BaseUnreachable', Cause: 'why' } })
    await driveUntil(ports, failed, 'Failed')
    expect(ports.notices).toMatchObject([{ kind: 'failed', runId: run.runId }])
    expect(ports.notices[0]?.text).toContain('limits.depth')
  })

  it('how a run of the schedule ended, whoever looks in the morning', async () => {
    const { ports, state } = await begun('schedule', { overrides: { ask: 'never' } })
    finds(ports)
    await driveUntil(ports, state, 'Done')
    expect(ports.notices.map(({ kind }) => kind)).toEqual(['nightly'])
    expect(ports.notices[0]?.text).toContain('Changes requested')
  })

  it('that nothing is started any more', () => {
    expect(budgetNotice('https://git.example/team/project', 'the day has 0 tokens left')).toMatchObject({
      kind: 'budget',
      runId: null,
      subject: 'reviewloop starts nothing: team/project',
    })
  })
})

describe('the topic', () => {
  const notice: Notice = {
    kind: 'parked',
    repository: 'https://git.example/a',
    runId: 'r-0123456789abcdef',
    subject: 'für alle\u{1f600}',
    text: 'text',
  }
  const through = (facts: object, send: () => Promise<object> = async () => ({})) => {
    vi.stubEnv(ENV.topic, 'arn:aws:sns:us-east-1:000000000000:people')
    const sent: PublishCommand[] = []
    const client = new SNSClient({ region: 'us-east-1' })
    Object.assign(client, {
      send: async (command: PublishCommand) => {
        sent.push(command)
        return send()
      },
    })
    const log = vi.fn<() => void>()
    return { notify: makeNotify({ log }, deployment.parse(facts), client), sent, log }
  }

  it('is sent plain subjects, and what it is about beside the text', async () => {
    const { notify, sent } = through({})
    await notify(notice)
    expect(sent[0]?.input).toMatchObject({ Message: 'text', Subject: 'fur alle?' })
    expect(sent[0]?.input.MessageAttributes).toMatchObject({
      kind: { StringValue: 'parked' },
      repository: { StringValue: notice.repository },
    })
  })

  it('is sent what the deployment wants told, and of a repository what that wants', async () => {
    const quiet = through({ notify: { on: ['failed'] } })
    await quiet.notify(notice)
    expect(quiet.sent).toEqual([])
    const loud = through({ notify: { on: [] }, repositories: [{ url: notice.repository, notify: { on: ['parked'] } }] })
    await loud.notify(notice)
    expect(loud.sent).toHaveLength(1)
  })

  it('fails no run that it does not take a message of', async () => {
    const { notify, log } = through({}, async () => {
      throw new Error('gone')
    })
    await notify(notice)
    expect(log).toHaveBeenCalledTimes(1)
  })
})
