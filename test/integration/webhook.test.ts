/** POST /webhooks/github through its handler: signatures, redelivery, whose runs may be commanded by whom. */
import { describe, expect, it } from 'vitest'
import { handler } from '../../functions/webhook/handler.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import type { DeliveryAnswer } from '../../lib/loop/items.ts'
import { publish } from '../../lib/loop/publish.ts'
import type { RunState } from '../../lib/loop/run.ts'
import { driveUntil } from '../support/drive.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { HEAD, invocationOf, makePorts, stateOf } from '../support/ports.ts'
import {
  APP_ID,
  BRANCH,
  checkOf,
  commentOf,
  deliveryOf,
  FakePulls,
  GITHUB,
  githubRepository,
  HOOK_SECRET_TEXT,
  pullRequestOf,
  signatureOf,
} from '../support/webhooks.ts'

const OTHER = 'c'.repeat(40)
const OLD_SECRET = 'the-secret-before-that-one'

const setUp = () => {
  const ports = makePorts({
    workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\nodd\n' } }),
    deployment: deployment.parse({ repositories: [{ url: GITHUB.url, ...githubRepository }], github: { appId: APP_ID } }),
  })
  const pulls = new FakePulls()
  const call = handler({ ...ports, pulls }, async () => [HOOK_SECRET_TEXT, OLD_SECRET])
  const send = async (event: object): Promise<{ status: number; body: DeliveryAnswer & { title?: string } }> => {
    const { statusCode, body } = (await call(event)) as { statusCode: number; body: string }
    return { status: statusCode, body: JSON.parse(body) as DeliveryAnswer }
  }
  const deliver = async (event: string, payload: unknown, headers = {}) => (await send(deliveryOf(event, payload, headers))).body
  const say = (text: string, change = {}, at = ports.effects.now() + 1000) => deliver('issue_comment', commentOf(text, at, change))
  /** A run that waits for an answer about two findings. */
  const parked = async (): Promise<{ runId: string; state: RunState; ids: string[] }> => {
    const found = (rule: string, line: number) => ({
      rule,
      severity: 'error' as const,
      action: 'ask-user' as const,
      file: 'a.js',
      line,
      text: rule,
    })
    ports.agent.script.push(ports.agent.done({ findings: [found('bad', 2), found('odd', 3)], accounts: [], skipped: [], summary: '' }))
    const { runId } = await deliver('pull_request', pullRequestOf())
    const { state } = await driveUntil(ports, stateOf({ runId: runId ?? '', next: 'Prepare', commit: HEAD }), 'Decide')
    const text = new TextDecoder().decode(ports.artifacts.objects.get(state.record ?? ''))
    const { findings } = JSON.parse(text) as { findings: { id: string }[] }
    return { runId: runId ?? '', state, ids: findings.map(({ id }) => id) }
  }
  const itemOf = (runId: string) => ports.runs.runItems.get(runId)
  return { ports, pulls, call, send, deliver, say, parked, itemOf }
}

describe('the signature', () => {
  it.each([
    ['is missing', ''],
    ['is of another secret', signatureOf('{}', 'another-secret-of-sixteen')],
    ['is of another body', signatureOf('{ }')],
    ['is of the older kind', 'sha1=0123456789abcdef'],
    ['is cut short', signatureOf('{}').slice(0, -1)],
  ])('that %s lets nothing in, and nothing is kept', async (_what, signature) => {
    const { send, ports } = setUp()
    const event = deliveryOf('pull_request', '{}', { 'x-hub-signature-256': signature })
    expect(await send(event)).toMatchObject({ status: 401, body: { title: 'BadSignature' } })
    expect(ports.runs.deliveryItems.size + ports.artifacts.objects.size).toBe(0)
  })

  it('is over the very bytes, of a body in base64 too, and not over what they mean', async () => {
    const { send } = setUp()
    // As GitHub writes it and nobody would write it again.
    const body = `${JSON.stringify(pullRequestOf(), null, 3)}\n  `.replace('Hello', 'H\\u0065llo')
    const event = deliveryOf('pull_request', body)
    expect(await send({ ...event, body: Buffer.from(body).toString('base64'), isBase64Encoded: true })).toMatchObject({
      body: { outcome: 'started' },
    })
    const again = JSON.stringify(JSON.parse(body))
    expect(await send({ ...event, body: again })).toMatchObject({ status: 401 })
  })

  it('of the secret before is good as well, while both are set', async () => {
    const { send } = setUp()
    const body = JSON.stringify(pullRequestOf())
    const event = deliveryOf('pull_request', body, { 'x-hub-signature-256': signatureOf(body, OLD_SECRET) })
    expect(await send(event)).toMatchObject({ body: { outcome: 'started' } })
  })

  it('is asked for before anything is called: the shape of it, and what else a delivery has', async () => {
    const { call } = setUp()
    const { headers } = deliveryOf('ping', '{}') as { headers: Record<string, string> }
    const authorized = async (change: object) => call({ type: 'REQUEST', headers: { ...headers, ...change } })
    expect(await authorized({})).toEqual({ isAuthorized: true })
    for (const change of [{ 'x-hub-signature-256': 'sha256=x' }, { 'x-github-delivery': '../x' }, { 'x-github-event': '' }])
      expect(await authorized(change)).toEqual({ isAuthorized: false })
  })

  it('does not make a body of any size be read, nor one that is no payload', async () => {
    const { send } = setUp()
    expect(await send(deliveryOf('pull_request', 'x'.repeat(5 * 1024 * 1024 + 1)))).toMatchObject({ status: 413 })
    expect(await send(deliveryOf('pull_request', 'no json'))).toMatchObject({ status: 400 })
    expect(await send(deliveryOf('pull_request', '{}', { 'x-github-delivery': '../../x' }))).toMatchObject({ status: 400 })
  })
})

describe('a delivery', () => {
  it('starts a run in the name of who caused it, and its body is kept as it came in', async () => {
    const { send, ports, itemOf } = setUp()
    const event = deliveryOf('pull_request', pullRequestOf()) as { headers: Record<string, string>; body: string }
    const { body } = await send(event)
    expect(body).toMatchObject({ outcome: 'started' })
    expect(itemOf(body.runId ?? '')).toMatchObject({ startedBy: 'Codertocat on GitHub', request: { branch: BRANCH, head: HEAD } })
    const kept = ports.artifacts.objects.get(`deliveries/${event.headers['x-github-delivery']}.json`)
    expect(new TextDecoder().decode(kept)).toBe(event.body)
  })

  it('case 13: made again, at once or a day later, is one run, and is answered from the record', async () => {
    const { send, ports } = setUp()
    const event = deliveryOf('pull_request', pullRequestOf())
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(event)))
    const outcomes = answers.map(({ body }) => body.outcome)
    expect(outcomes.filter((outcome) => outcome === 'started')).toHaveLength(1)
    expect(outcomes.every((outcome) => outcome === 'started' || outcome === 'busy')).toBe(true)
    ports.effects.advance(24 * 3_600_000)
    // By now the branch is elsewhere: whoever asked it would start another run, or none.
    ports.forge.head = OTHER
    const started = answers.find(({ body }) => body.outcome === 'started')
    expect(await send(event)).toEqual(started)
    expect(ports.runs.runItems.size).toBe(1)
    expect(ports.executions.started).toHaveLength(1)
  })

  it('that could not be done is done when it is made again, and one that is refused is looked at again', async () => {
    const { send, ports } = setUp()
    const event = deliveryOf('pull_request', pullRequestOf())
    const { branchHead } = ports.forge
    ports.forge.branchHead = async () => {
      throw new LoopError('FetchFailed', 'no answer')
    }
    expect(await send(event)).toMatchObject({ status: 502 })
    ports.forge.branchHead = branchHead
    ports.forge.head = OTHER
    expect(await send(event)).toMatchObject({
      status: 200,
      body: { outcome: 'refused', why: expect.stringContaining('NotTheBranchHead') as string },
    })
    ports.forge.head = HEAD
    expect(await send(event)).toMatchObject({ status: 200, body: { outcome: 'started' } })
  })

  it('whose worker died is taken up by the next one, when its time is over', async () => {
    const { send, ports } = setUp()
    const event = deliveryOf('pull_request', pullRequestOf()) as { headers: Record<string, string> }
    ports.forge.branchHead = () => new Promise(() => {})
    void send(event)
    await new Promise(setImmediate)
    expect(await send(event)).toMatchObject({ status: 202, body: { outcome: 'busy' } })
    ports.effects.advance(61_000)
    ports.forge.branchHead = async (_repository, branch) => (branch === 'main' ? 'b'.repeat(40) : HEAD)
    expect(await send(event)).toMatchObject({ body: { outcome: 'started' } })
  })

  it('late, of a head that is no longer the branch, starts nothing', async () => {
    const { deliver, ports } = setUp()
    ports.forge.head = OTHER
    expect(await deliver('pull_request', pullRequestOf())).toMatchObject({ outcome: 'refused' })
    expect(ports.runs.runItems.size).toBe(0)
  })

  it('under an id that another body had is refused', async () => {
    const { send } = setUp()
    const id = { 'x-github-delivery': '0b989ba4-242f-11e5-81e1-c7b6966d2516' }
    await send(deliveryOf('ping', '{"zen":"a"}', id))
    expect((await send(deliveryOf('ping', '{"zen":"b"}', id))).body).toMatchObject({ outcome: 'ignored' })
    const { send: other, ports } = setUp()
    ports.artifacts.objects.set(`deliveries/${id['x-github-delivery']}.json`, new TextEncoder().encode('other'))
    expect(await other(deliveryOf('pull_request', pullRequestOf(), id))).toMatchObject({ status: 409 })
    expect(ports.runs.runItems.size).toBe(0)
  })

  it('of a newer head supersedes; of a check that is asked for again is a new attempt, once the run has ended', async () => {
    const { deliver, ports, itemOf } = setUp()
    const first = await deliver('pull_request', pullRequestOf())
    expect(await deliver('check_run', checkOf())).toEqual({ outcome: 'known', runId: first.runId, why: null })
    ports.forge.head = OTHER
    const second = await deliver('pull_request', pullRequestOf('synchronize', { head: { sha: OTHER } }))
    expect(second).toMatchObject({ outcome: 'started' })
    expect(itemOf(first.runId ?? '')?.verdict).toMatchObject({ outcome: 'superseded' })
    await driveUntil(ports, stateOf({ runId: second.runId ?? '', next: 'Prepare', commit: OTHER }), 'Done')
    const again = await deliver('check_run', checkOf({ head_sha: OTHER }))
    expect(again.outcome).toBe('started')
    expect(itemOf(again.runId ?? '')?.request.attempt).toBe(2)
  })
})

describe('our own push', () => {
  /** A run that fixed what it found and is about to be closed. */
  const published = async (publishTo: string | null) => {
    const world = setUp()
    const { ports, deliver } = world
    const { runId } = await deliver('pull_request', pullRequestOf())
    const item = ports.runs.runItems.get(runId ?? '')
    if (!item) throw new Error('no run')
    ports.runs.runItems.set(item.runId, { ...item, request: { ...item.request, publishTo } })
    const draft = { rule: 'bad', severity: 'error' as const, action: 'auto-fix' as const, file: 'a.js', line: 2, text: 'bad' }
    ports.agent.script.push(
      ports.agent.done({ findings: [draft], accounts: [], skipped: [], summary: '' }),
      async (turn) => {
        await turn.edits?.edit('a.js', 'bad', 'good')
        return ports.agent.done({ results: [], summary: 'mended' })(turn)
      },
      (turn) => {
        const { task } = turn.prompt
        const accounts = task.kind === 'fix' ? [] : task.outstanding.map(({ id }) => ({ id, status: 'fixed' as const }))
        return ports.agent.done({ findings: [], accounts, skipped: [], summary: '' })(turn)
      },
    )
    const { state } = await driveUntil(ports, stateOf({ runId: item.runId, next: 'Prepare', commit: HEAD }), 'Publish')
    // The webhook comes in while Publish is still at it.
    const closing = await publish(ports, state, invocationOf(ports))
    ports.forge.head = state.commit
    return { ...world, runId: item.runId, commit: state.commit, closing }
  }

  it.each([
    ['onto the branch under review', BRANCH, BRANCH],
    ['onto a branch of its own, as a pull request', null, null],
  ])('%s comes in as a webhook and starts nothing, at once and after the run', async (_where, publishTo, on) => {
    const { deliver, ports, runId, commit, closing } = await published(publishTo)
    const head = { sha: commit, ref: on ?? `reviewloop/${runId}` }
    const events = on ? ['synchronize'] : ['opened', 'reopened']
    for (const action of events)
      expect(await deliver('pull_request', pullRequestOf(action, { head }))).toMatchObject({ outcome: 'known', runId })
    await driveUntil(ports, closing, 'Done')
    for (const action of events)
      expect(await deliver('pull_request', pullRequestOf(action, { head }))).toMatchObject({ outcome: 'known', runId })
    expect(ports.runs.runItems.size).toBe(1)
    expect(ports.runs.runItems.get(runId)?.verdict).toMatchObject({ outcome: 'approved' })
  })

  it('is reviewed when a person asks for it', async () => {
    const { deliver, ports, runId, commit, closing } = await published(BRANCH)
    await driveUntil(ports, closing, 'Done')
    const asked = await deliver('check_run', checkOf({ head_sha: commit }))
    expect(asked).toMatchObject({ outcome: 'started' })
    expect(asked.runId).not.toBe(runId)
  })
})

describe('a command in a comment', () => {
  it('is obeyed for people with write access alone', async () => {
    const { say, parked, itemOf } = setUp()
    const { runId } = await parked()
    const before = itemOf(runId)
    for (const association of ['MEMBER', 'COLLABORATOR', 'CONTRIBUTOR', 'NONE']) {
      const eve = { user: { id: 5, login: 'eve', type: 'User' }, author_association: association }
      expect(await say('/reviewloop approve', eve)).toMatchObject({
        outcome: 'refused',
        why: expect.stringContaining('NotPermitted') as string,
      })
    }
    expect(itemOf(runId)).toEqual(before)
    expect(await say('/reviewloop approve')).toMatchObject({ outcome: 'decided', runId })
  })

  it('of the owner of the repository needs no asking', async () => {
    const { say, pulls, parked } = setUp()
    await parked()
    const asked = pulls.asked
    expect(await say('/reviewloop approve', { author_association: 'OWNER' })).toMatchObject({ outcome: 'decided' })
    expect(pulls.asked - asked).toBe(1)
  })

  it('approves in the name of who wrote it, when it was written down', async () => {
    const { say, parked, itemOf, ports } = setUp()
    const { runId, state } = await parked()
    await say('/reviewloop approve')
    expect(itemOf(runId)?.decision).toMatchObject({ answer: { kind: 'approve' }, by: 'ada on GitHub', at: expect.any(String) as string })
    expect(ports.executions.woken).toEqual(['token'])
    const { state: end } = await driveUntil(ports, state, 'Done')
    expect(end.verdict).toMatchObject({ outcome: 'approved', reason: 'by-person', by: 'ada on GitHub' })
  })

  it('to fix gives all that is open, or what it names, with notes, with what it declines and adds', async () => {
    const { say, parked, itemOf } = setUp()
    const { runId, ids } = await parked()
    const [bad = '', odd = ''] = ids
    await say(`/reviewloop fix\ndecline ${odd}: it is meant so\nadd a.js:1: and this one\nMind the names.`)
    expect(itemOf(runId)?.decision?.answer).toMatchObject({
      kind: 'fix',
      findings: [bad],
      decline: [odd],
      note: 'Mind the names.',
      notes: { [odd]: 'it is meant so' },
      add: [{ file: 'a.js', line: 1, text: 'and this one' }],
    })
  })

  it('that declines while it approves is remembered by the branch', async () => {
    const { say, parked, ports } = setUp()
    const { state, ids } = await parked()
    await say(`/reviewloop approve\ndecline ${ids[0]}`)
    await driveUntil(ports, state, 'Done')
    expect([...ports.runs.branchItems.values()][0]?.declined).toMatchObject([{ id: ids[0], by: 'ada on GitHub' }])
  })

  it('skips, and aborts a run that waits or works', async () => {
    const skipping = setUp()
    const { runId } = await skipping.parked()
    expect(await skipping.say('/reviewloop skip')).toMatchObject({ outcome: 'decided', runId })
    const aborting = setUp()
    const { runId: waiting } = await aborting.parked()
    expect(await aborting.say('/reviewloop abort')).toMatchObject({ outcome: 'aborted', runId: waiting })
    const working = setUp()
    const started = await working.deliver('pull_request', pullRequestOf())
    expect(await working.say('/reviewloop abort')).toMatchObject({ outcome: 'aborted', runId: started.runId })
    expect(working.itemOf(started.runId ?? '')?.verdict).toMatchObject({ outcome: 'aborted', by: 'ada on GitHub' })
  })

  it('runs the head that the pull request has now', async () => {
    const { say, itemOf } = setUp()
    const { runId, outcome } = await say('/reviewloop run')
    expect(outcome).toBe('started')
    expect(itemOf(runId ?? '')).toMatchObject({ startedBy: 'ada on GitHub', request: { branch: BRANCH, head: HEAD } })
  })

  it('case 26: for a run that no longer waits, was answered, or asked something since, changes nothing', async () => {
    const { say, parked, itemOf, ports } = setUp()
    expect(await say('/reviewloop approve')).toMatchObject({ outcome: 'refused', why: expect.stringContaining('RunNotFound') as string })
    const { runId, state } = await parked()
    const asked = Date.parse(itemOf(runId)?.question?.askedAt ?? '')
    const early = await say('/reviewloop approve', {}, asked - 2000)
    expect(early).toMatchObject({ outcome: 'refused', why: expect.stringContaining('StaleDecision') as string })
    expect(itemOf(runId)?.decision).toBeNull()
    await say('/reviewloop skip')
    const answered = itemOf(runId)
    expect(await say('/reviewloop approve')).toMatchObject({ outcome: 'refused', why: expect.stringContaining('StaleDecision') as string })
    expect(itemOf(runId)).toEqual(answered)
    // The same again is answered alike.
    expect(await say('/reviewloop skip')).toMatchObject({ outcome: 'decided', runId })
    await driveUntil(ports, state, 'Done')
    expect(await say('/reviewloop skip')).toMatchObject({ outcome: 'refused' })
  })

  it('on a fork, on a pull request that is closed or gone, or in words that are none, does nothing', async () => {
    const { say, pulls, parked, itemOf } = setUp()
    const { runId } = await parked()
    const before = itemOf(runId)
    const open = pulls.pr
    for (const pr of [null, { ...open!, open: false }]) {
      pulls.pr = pr
      expect(await say('/reviewloop approve')).toMatchObject({ outcome: 'refused' })
    }
    pulls.pr = { ...open!, fork: true }
    expect(await say('/reviewloop approve')).toMatchObject({ outcome: 'ignored', why: expect.stringContaining('fork') as string })
    pulls.pr = open
    expect(await say('/reviewloop merge it')).toMatchObject({ outcome: 'refused', why: expect.stringContaining('BadRequest') as string })
    expect(await say('/reviewloop fix f-ffffffffff')).toMatchObject({
      outcome: 'refused',
      why: expect.stringContaining('BadDecision') as string,
    })
    expect(itemOf(runId)).toEqual(before)
  })

  it('case 21: no text of a change, a title or a comment without write access approves or starts anything', async () => {
    const { say, deliver, parked, itemOf } = setUp()
    const { runId } = await parked()
    const before = itemOf(runId)
    const words = '/reviewloop approve'
    await deliver('pull_request', pullRequestOf('labeled', { title: words, body: words }))
    for (const text of [`> ${words}`, `The tool said:\n${words}`, `\`\`\`\n${words}\n\`\`\``, `approve this. ${words}`])
      expect(await say(text)).toMatchObject({ outcome: 'ignored' })
    expect(await say(words, { user: { id: 5, login: 'x[bot]', type: 'Bot' } })).toMatchObject({ outcome: 'ignored' })
    expect(itemOf(runId)).toEqual(before)
  })
})
