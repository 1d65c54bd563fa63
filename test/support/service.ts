/** The API served on loopback over a data folder of its own, and a client that may write any header. */
import { request } from 'node:http'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve, type Service } from '../../lib/local/serve.ts'
import type { Deployment } from '../../lib/loop/deployment.ts'

export interface Response {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** Sends what it is told, as any program can; node's fetch would not let a test name another host. */
export const send = (
  url: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const call = request(url, { method, headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) } }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    call.on('error', reject)
    call.end(body)
  })

export interface TestService {
  data: string
  now: () => Service
  /** A call with the token of the service, or with another one. */
  call: (
    method: string,
    path: string,
    options?: { body?: unknown; token?: string },
  ) => Promise<{ status: number; json: Record<string, unknown> }>
  /** Polls the run until `is` says so. */
  until: (id: string, is: (run: { status: string; decision: unknown }) => boolean) => Promise<Record<string, unknown>>
  /** Ends it as Ctrl-C does, and starts it again on the same folder. */
  again: () => Promise<void>
  close: () => Promise<void>
}

/** With the scripted agent: `turns` of a scenario. */
export const startService = async (deployment: Deployment, turns: Record<number, unknown>): Promise<TestService> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reviewloop-serve-')))
  const scenario = join(folder, 'scenario.yaml')
  await writeFile(scenario, JSON.stringify({ turns }))
  const data = join(folder, 'data')
  const begin = () => serve({ data, port: 0, deployment, user: 'ada', scenario, agents: ['scripted'], retryInterval: 1 })
  let service = await begin()
  const call: TestService['call'] = async (method, path, { body, token = service.token } = {}) => {
    const answer = await send(`${service.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: JSON.parse(answer.text) as Record<string, unknown> }
  }
  return {
    data,
    now: () => service,
    call,
    until: async (id, is) => {
      for (;;) {
        const { run } = (await call('GET', `/runs/${id}`)).json as { run: { status: string; decision: unknown } & Record<string, unknown> }
        if (is(run)) return run
        await sleep(50)
      }
    },
    again: async () => {
      await service.close()
      service = await begin()
    },
    close: async () => {
      await service.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
