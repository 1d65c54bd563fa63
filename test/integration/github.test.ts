/** What GitHub shows of a run: the real adapter over HTTP against a mock that is held to GitHub's published description. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { asLoopError } from '../../lib/loop/errors.ts'
import { decideRun } from '../../lib/loop/decide.ts'
import { recordFailure } from '../../lib/loop/record-failure.ts'
import { finds, findingAt, fixes, githubLoop, type GithubLoop } from '../support/github/loop.ts'
import { type GithubMock, startGithub } from '../support/github/mock.ts'
import { BOT, PERSON } from '../support/github/state.ts'
import { HEAD } from '../support/ports.ts'

let github: GithubMock
beforeEach(async () => {
  github = await startGithub()
})
afterEach(async () => {
  expect(github.complaints).toEqual([])
  await github[Symbol.asyncDispose]()
})

const writes = () => github.calls.filter((call) => !call.startsWith('GET') && !call.includes('access_tokens'))
const checks = () => github.state.checks.map(({ head_sha, status, conclusion }) => [head_sha, status, conclusion])
const asks = { action: 'ask-user' as const }

/** A run with a finding that a person has to decide on, up to the question. */
const parked = async (loop: GithubLoop) => {
  github.state.addPull({ head: 'feature', sha: HEAD })
  const { run, state } = await loop.start()
  finds(loop, findingAt(2, asks))
  const asking = await loop.drive(state, 'Decide')
  await loop.tell(run.runId)
  return { runId: run.runId, state: asking }
}

describe('a run, from its start to its end', () => {
  it('is queued, at work, a question, an answer and a verdict; told again it changes nothing', async () => {
    const loop = githubLoop(github)
    github.state.addPull({ head: 'feature', sha: HEAD })
    const { run, state } = await loop.start()
    await loop.tell(run.runId)
    expect(checks()).toEqual([[HEAD, 'queued', null]])
    await loop.tell(run.runId, true)
    expect(checks()).toEqual([[HEAD, 'in_progress', null]])
    finds(loop, findingAt(2, asks))
    const asking = await loop.drive(state, 'Decide')
    await loop.tell(run.runId)
    expect(github.state.checks[0]).toMatchObject({ status: 'in_progress', output: { title: 'Parked: a person is asked' } })
    expect(github.state.comments.map(({ body }) => body)).toEqual([expect.stringMatching(/### reviewloop asks[^]*\/reviewloop approve/)])
    await decideRun(loop.ports, run.runId, { answer: { kind: 'approve' }, by: 'ada' })
    await loop.drive(asking, 'Done')
    await loop.tell(run.runId)
    expect(checks()).toEqual([[HEAD, 'completed', 'success']])
    const [question, summary] = github.state.comments
    expect(question?.body).toContain('Answered: approve by ada.')
    expect(summary?.body).toMatch(/^### reviewloop: Approved: a person approved it, with what is open \(ada\)/)
    expect(github.state.reviews).toMatchObject([{ commit_id: HEAD, comments: [{ path: 'a.js', line: 2 }] }])
    expect([...github.state.scans.keys()]).toEqual([`reviewloop reviewloop refs/heads/feature ${HEAD}`])

    const before = [structuredClone(github.state), writes().length]
    await loop.tell(run.runId)
    expect([structuredClone(github.state), writes().length]).toEqual(before)
  })

  it('with fixes: the head by itself is not approved, the commit with the fixes is', async () => {
    const loop = githubLoop(github)
    const { run, state } = await loop.start()
    finds(loop, findingAt(2))
    fixes(loop, 'one\ngood\n')
    const done = await loop.drive(state, 'Done')
    await loop.tell(run.runId)
    expect(checks()).toEqual([
      [HEAD, 'completed', 'action_required'],
      [done.commit, 'completed', 'success'],
    ])
    expect(github.state.checks[0]?.['output']).toMatchObject({
      summary: expect.stringContaining(`on branch \`reviewloop/${run.runId}\``) as string,
    })
    expect([...github.state.scans.keys()]).toEqual([`reviewloop reviewloop refs/heads/reviewloop/${run.runId} ${done.commit}`])
    // Nobody has opened a pull request: there is nothing to comment on.
    expect([github.state.comments, github.state.reviews, github.state.pulls]).toEqual([[], [], []])
  })

  it('with fixes on the very branch: the head gives way to them', async () => {
    const loop = githubLoop(github)
    const { run, state } = await loop.start({ publishTo: 'feature' })
    finds(loop, findingAt(2))
    fixes(loop, 'one\ngood\n')
    const done = await loop.drive(state, 'Done')
    await loop.tell(run.runId)
    expect(checks()).toEqual([
      [HEAD, 'completed', 'neutral'],
      [done.commit, 'completed', 'success'],
    ])
  })

  it.each([
    ['changes-requested', 'failure'],
    ['aborted', 'cancelled'],
  ])('that ends as %s concludes as %s', async (outcome, conclusion) => {
    const loop = githubLoop(github)
    const { runId, state } = await parked(loop)
    await decideRun(loop.ports, runId, { answer: { kind: outcome === 'aborted' ? 'abort' : 'skip' }, by: 'ada' })
    await loop.drive(state, 'Done')
    await loop.tell(runId)
    expect(checks()).toEqual([[HEAD, 'completed', conclusion]])
  })

  it('that fails says why, and what to do', async () => {
    const loop = githubLoop(github)
    const { run, state } = await loop.start()
    const failed = await recordFailure(loop.ports, {
      ...state,
      error: { Error: 'AgentFailed', Cause: 'it fell over ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaa' },
    })
    await loop.drive(failed, 'Failed')
    await loop.tell(run.runId)
    expect(checks()).toEqual([[HEAD, 'completed', 'failure']])
    expect(JSON.stringify(github.state.checks)).toContain('start again with')
    expect(github.sent.join()).not.toContain('ghp_aaaa')
  })

  it("case 17: a superseded run's check is neutral on its own commit, and nothing on the new one", async () => {
    const loop = githubLoop(github)
    const { runId } = await parked(loop)
    const newer = 'c'.repeat(40)
    loop.ports.forge.head = newer
    const { run } = await loop.start({ head: newer })
    await loop.tell(runId)
    expect(checks()).toEqual([[HEAD, 'completed', 'neutral']])
    // The newer run speaks for itself; of the older one there is no summary.
    await loop.tell(run.runId)
    expect(checks()).toEqual([
      [HEAD, 'completed', 'neutral'],
      [newer, 'queued', null],
    ])
    expect(github.state.comments.filter(({ body }) => body.includes('### reviewloop:'))).toEqual([])
    await loop.tell(runId)
    expect(checks()).toHaveLength(2)
  })
})

describe('the one summary of a pull request', () => {
  const ended = async (loop: GithubLoop, request: object = {}) => {
    const { run, state } = await loop.start(request)
    await loop.drive(state, 'Done')
    return run.runId
  }

  it('is updated in place by the runs that follow, and an older run that is told late leaves it alone', async () => {
    const loop = githubLoop(github)
    github.state.addPull({ head: 'feature', sha: HEAD })
    const first = await ended(loop)
    await loop.tell(first)
    loop.ports.effects.advance(60_000)
    const second = await ended(loop, { attempt: 2 })
    await loop.tell(second)
    expect(github.state.comments).toHaveLength(1)
    expect(github.state.comments[0]?.body).toContain(second)
    loop.ports.runs.forgeItems.clear()
    await loop.tell(first)
    expect(github.state.comments).toHaveLength(1)
    expect(github.state.comments[0]?.body).toContain(second)
    expect(github.state.comments[0]?.body).not.toContain(first)
  })

  it('is found among all pages, and what a person copied is not taken for it', async () => {
    const loop = githubLoop(github)
    const pull = github.state.addPull({ head: 'feature', sha: HEAD })
    const runId = await ended(loop)
    const copied = `<!-- reviewloop:summary 2026-01-01T00:00:00.000Z ${runId} -->`
    github.state.addComment(pull.number, `mine now ${copied}`)
    for (let count = 0; count < 250; count++) github.state.addComment(pull.number, 'one of many')
    const own = github.state.addComment(pull.number, `before ${copied}`, BOT)
    for (let count = 0; count < 120; count++) github.state.addReview(pull.number, 'one of many')
    await loop.tell(runId)
    expect(own.body).toContain('### reviewloop: Approved')
    expect(github.state.comments).toHaveLength(252)
    expect(github.state.comments[0]?.body).toContain('mine now')
  })

  it('is not put on a pull request of a fork that calls its branch the same', async () => {
    const loop = githubLoop(github)
    github.state.addPull({ head: 'feature', sha: HEAD, repositoryId: 666 })
    await loop.tell(await ended(loop))
    expect(github.state.comments).toEqual([])
    const own = github.state.addPull({ head: 'feature', sha: HEAD, base: 'develop' })
    loop.ports.effects.advance(1)
    await loop.tell(await ended(loop, { attempt: 2 }))
    expect(github.state.comments.map(({ issue }) => issue)).toEqual([own.number])
  })
})

describe('findings', () => {
  const reviewed = async (loop: GithubLoop, count: number, change: (index: number) => object = () => ({})) => {
    github.state.addPull({ head: 'feature', sha: HEAD })
    const { run, state } = await loop.start({ overrides: { ask: 'never', rounds: 0 } })
    finds(loop, ...Array.from({ length: count }, (_, index) => findingAt(index + 1, { ...asks, rule: `rule-${index}`, ...change(index) })))
    await loop.drive(state, 'Done')
    await loop.tell(run.runId)
    return run.runId
  }
  const lines = (count: number) => ({ 'a.js': Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('') })

  it('stand on their lines in one review; those that are on none, in the summary', async () => {
    const loop = githubLoop(github, { files: lines(9) })
    await reviewed(loop, 3, (index) => (index === 2 ? { line: undefined, text: 'about all of it' } : index === 1 ? { endLine: 4 } : {}))
    expect(github.state.reviews).toHaveLength(1)
    expect(github.state.reviews[0]?.comments).toMatchObject([
      { path: 'a.js', line: 1, side: 'RIGHT', body: expect.stringContaining('bad on 1') as string },
      { path: 'a.js', start_line: 2, line: 4, start_side: 'RIGHT' },
    ])
    const [summary] = github.state.comments
    expect(summary?.body).toMatch(/#### Not on a line of the change[^]*about all of it/)
    expect(summary?.body).not.toContain('bad on 1')
  })

  it('over fifty are put together, one comment a file', async () => {
    const loop = githubLoop(github, { files: lines(60) })
    await reviewed(loop, 60)
    expect(github.state.reviews[0]?.comments).toMatchObject([{ path: 'a.js', line: 1 }])
    const body = github.state.reviews[0]?.comments[0]?.body ?? ''
    expect(['bad on 1', 'bad on 60'].every((text) => body.includes(text))).toBe(true)
  })

  it('fifty are not', async () => {
    const loop = githubLoop(github, { files: lines(60) })
    await reviewed(loop, 50)
    expect(github.state.reviews[0]?.comments).toHaveLength(50)
  })

  it('annotate the check, fifty a request, each once though an answer is lost on the way', async () => {
    const loop = githubLoop(github, { files: lines(130) })
    let lost = 0
    github.fault = (route, count) =>
      route.startsWith('PATCH /repos/{owner}/{repo}/check-runs') && count === 1 && lost++ === 0 ? 'lost' : null
    await reviewed(loop, 130)
    expect(lost).toBe(1)
    const [check] = github.state.checks
    expect(check?.annotations.map(({ start_line }) => start_line)).toEqual(Array.from({ length: 130 }, (_, index) => index + 1))
    expect(check).toMatchObject({ status: 'completed', conclusion: 'failure' })
  })

  it('on a line that GitHub does not show do not cost the review: they stand in its text', async () => {
    const loop = githubLoop(github, { files: lines(9) })
    github.state.lines = new Map([['a.js', new Set([1])]])
    await reviewed(loop, 2)
    expect(github.state.reviews).toMatchObject([{ comments: [], body: expect.stringMatching(/bad on 1[^]*bad on 2/) as string }])
  })

  it('say what they say as text: no mention, no picture, no reference, no mark of ours', async () => {
    const evil =
      'Fixes #12 and closes team/project#7, GH-9 by @team/all ![x](https://evil.example/p.png) <img src=x> <!-- reviewloop:review r-0 --> ```\n@everyone'
    const loop = githubLoop(github, { files: lines(9) })
    await reviewed(loop, 3, (index) => ({ text: `${evil} ${index}`, rule: `@team #${index}`, ...(index === 2 ? { line: undefined } : {}) }))
    const shown = [
      ...github.state.comments.map(({ body }) => body),
      ...github.state.reviews.flatMap(({ body, comments }) => [body, ...comments.map((c) => c.body)]),
    ]
    shown.push(...github.state.checks.map((check) => (check['output'] as { summary: string }).summary))
    expect(shown.length).toBeGreaterThan(4)
    for (const text of shown) {
      const inert = text.replaceAll(/<!-- reviewloop:(?:summary|review|question) [^>]* -->/g, '')
      // As a forge reads it, after the markup: entities are the characters that they stand for.
      const read = inert.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
      expect(read).not.toMatch(/@(?:team|everyone)|#\d|GH-\d|https:\/\/evil/)
      expect(inert).not.toMatch(/!\[|<img|<!--/)
    }
  })

  it('show no secret', async () => {
    const loop = githubLoop(github, { files: lines(9) })
    await reviewed(loop, 2, () => ({ text: 'the token ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaa is here' }))
    expect(github.sent.join()).not.toContain('ghp_aaaa')
    expect(github.sent.join()).not.toContain('PRIVATE KEY')
  })
})

describe('the pull request with the fixes', () => {
  const AS_PULL = { repository: { publish: 'pull-request' } }
  const run = async (loop: GithubLoop, request: object = {}) => {
    const { run: started, state } = await loop.start(request)
    finds(loop, findingAt(2))
    fixes(loop, 'one\ngood\n')
    await loop.drive(state, 'Done')
    await loop.tell(started.runId)
    return started.runId
  }

  it('is opened into the branch that was reviewed, and the summary leads to it', async () => {
    const loop = githubLoop(github, AS_PULL)
    github.state.addPull({ head: 'feature', sha: HEAD })
    const runId = await run(loop)
    expect(github.state.pulls[1]).toMatchObject({
      title: 'reviewloop: fixes for feature',
      head: { ref: `reviewloop/${runId}` },
      base: { ref: 'feature' },
    })
    expect(github.state.comments[0]?.body).toContain('Pull request with the fixes: #2')
    await loop.tell(runId)
    expect(github.state.pulls).toHaveLength(2)
  })

  it('of one branch for every night is opened once, and brought up to date', async () => {
    const loop = githubLoop(github, AS_PULL)
    const first = await run(loop, { publishTo: 'reviewloop/nightly-feature' })
    loop.ports.effects.advance(24 * 3600 * 1000)
    const second = await run(loop, { publishTo: 'reviewloop/nightly-feature', attempt: 2 })
    expect(github.state.pulls).toHaveLength(1)
    expect(github.state.pulls[0]?.body).toContain(second)
    expect(github.state.pulls[0]?.body).not.toContain(first)
    github.state.pulls[0]!.state = 'closed'
    await run(loop, { publishTo: 'reviewloop/nightly-feature', attempt: 3 })
    expect(github.state.pulls.map(({ state }) => state)).toEqual(['closed', 'open'])
  })

  it('that a person opened keeps its words', async () => {
    const loop = githubLoop(github, AS_PULL)
    github.state.addPull({ head: 'reviewloop/mine', sha: HEAD, base: 'feature', body: 'my words', user: PERSON })
    await run(loop, { publishTo: 'reviewloop/mine' })
    expect(github.state.pulls).toMatchObject([{ body: 'my words' }])
  })
})

describe('the App', () => {
  it('asks for one repository, and for what is to be told alone', async () => {
    const loop = githubLoop(github)
    const { run } = await loop.start()
    await loop.tell(run.runId)
    const asked = github.sent.flatMap((text) => (text.includes('repository_ids') ? [JSON.parse(text) as unknown] : []))
    expect(asked).toEqual([{ repository_ids: [4711], permissions: { checks: 'write', pull_requests: 'write', security_events: 'write' } }])
  })

  it('does without what it was not given, and says what is missing', async () => {
    const loop = githubLoop(github)
    delete github.state.permissions['security_events']
    github.state.permissions['pull_requests'] = 'read'
    github.state.addPull({ head: 'feature', sha: HEAD })
    const { run, state } = await loop.start()
    await loop.drive(state, 'Done')
    await loop.tell(run.runId)
    expect(checks()).toEqual([[HEAD, 'completed', 'success']])
    expect(loop.item(run.runId)?.refused).toMatchObject({
      'code-scanning': { error: 'ForgeRefused', message: 'The GitHub App 7 has no permission security_events.' },
      forge: { message: 'The GitHub App 7 has no permission pull_requests.' },
    })
  })

  it.each([
    ['is not installed', () => (github.state.installed = false), undefined, /is not installed for team\/project/],
    ['has no key', () => {}, '', /no key of the GitHub App/],
    ['has a key that is none', () => {}, 'rubbish', /does not hold the private key/],
    ['may do nothing', () => (github.state.permissions = {}), undefined, /has no permission checks, pull_requests, security_events/],
  ])('that %s fails no run', async (_what, arrange, key, message) => {
    arrange()
    const loop = githubLoop(github, key === undefined ? {} : { key })
    const { run, state } = await loop.start()
    await loop.tell(run.runId)
    expect(loop.item(run.runId)?.refused['forge']).toMatchObject({
      error: 'ForgeRefused',
      message: expect.stringMatching(message) as string,
    })
    expect((await loop.drive(state, 'Done', 'Failed')).verdict?.outcome).toBe('approved')
    expect(loop.ports.effects.logged.some(({ message: said }) => said.includes('was not told'))).toBe(true)
  })

  it('of another key is not believed', async () => {
    const other = await startGithub()
    const mallory = githubLoop(github, { key: other.key.replace(/A/, 'B') })
    const { run } = await mallory.start()
    const error = await mallory.tell(run.runId).then(() => null, asLoopError)
    expect(error ?? mallory.item(run.runId)?.refused['forge']).toMatchObject({ error: 'ForgeRefused' })
    await other[Symbol.asyncDispose]()
  })
})
