/** What a forge leads to from an old name is not followed: the settings say which repository is meant. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { apiClient } from '../../lib/forge/api-client.ts'
import { never } from '../support/workspaces.ts'

it.each([301, 302, 307, 308])('a repository that was renamed (%i) is refused, and nothing is sent to where it is now', async (status) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    if (request.url === '/repos/old/name/thing') response.writeHead(status, { location: '/repositories/1/thing' })
    else response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = apiClient({ name: 'The forge', apiUrl, headers: {} })
    await expect(client.call('GET /repos/{owner}/{repo}/thing', { owner: 'old', repo: 'name' }, { signal: never() })).rejects.toMatchObject(
      {
        name: 'ForgeRefused',
        message: expect.stringContaining('renamed') as string,
      },
    )
    expect(asked).toEqual(['GET /repos/old/name/thing'])
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
