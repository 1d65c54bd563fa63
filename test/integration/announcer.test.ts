/** How the deployed functions have a forge told: an asynchronous call of Publish, by the real client, that fails nobody. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { makeAnnounce } from '../../lib/runtime/announcer.ts'
import { ENV } from '../../lib/names.ts'
import { FakeEffects } from '../support/clock.ts'

const PUBLISH = 'arn:aws:lambda:us-east-1:000000000000:function:Publish'
const RUN = 'r-0123456789abcdef'

let server: Server
let asked: { path: string; type: unknown; body: unknown }[]
let status: number
beforeEach(async () => {
  asked = []
  status = 202
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      asked.push({ path: decodeURIComponent(request.url ?? ''), type: request.headers['x-amz-invocation-type'], body: JSON.parse(body) })
      response.writeHead(status, { 'content-type': 'application/json' }).end(status === 202 ? '' : '{"Message":"no"}')
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  vi.stubEnv('AWS_REGION', 'us-east-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'not-a-real-one')
  vi.stubEnv(ENV.publishFunction, PUBLISH)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

it('calls Publish and does not wait for what comes of it', async () => {
  const effects = new FakeEffects()
  const announce = makeAnnounce(effects)
  await announce(RUN)
  await announce(RUN, { begun: true })
  const path = `/2015-03-31/functions/${PUBLISH}/invocations`
  expect(asked).toEqual([
    { path, type: 'Event', body: { tell: RUN } },
    { path, type: 'Event', body: { tell: RUN, begun: true } },
  ])
  expect(effects.logged).toEqual([])
})

it('is only logged where Publish cannot be called', async () => {
  const effects = new FakeEffects()
  status = 403
  await makeAnnounce(effects)(RUN)
  expect(effects.logged).toMatchObject([{ level: 'warn', facts: { runId: RUN } }])
})

it('calls nobody where no forge of the deployment can be told anything', async () => {
  vi.stubEnv(ENV.publishFunction, undefined)
  await makeAnnounce(new FakeEffects())(RUN)
  expect(asked).toEqual([])
})
