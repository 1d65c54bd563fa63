/** As much of S3 as the artifact store uses, served in process, conditional writes included; a page holds two keys. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { S3Client } from '@aws-sdk/client-s3'

const PAGE = 2

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
const answer = (response: ServerResponse, status: number, body: Uint8Array | string = ''): void => {
  response.writeHead(status, { 'content-type': typeof body === 'string' ? 'application/xml' : 'application/octet-stream' }).end(body)
}
const error = (response: ServerResponse, status: number, code: string): void =>
  answer(response, status, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`)

export interface FakeS3 {
  client: S3Client
  bucket: string
  objects: Map<string, Uint8Array>
  requests: string[]
  /** The next request is answered with this error instead. */
  failNext: { status: number; code: string } | null
  close(): Promise<void>
}

export const startS3 = async (): Promise<FakeS3> => {
  const objects = new Map<string, Uint8Array>()
  const list = (prefix: string, after: string): string => {
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const page = keys.slice(0, PAGE)
    const more = keys.length > PAGE ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    return `<ListBucketResult>${page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')}${more}</ListBucketResult>`
  }
  const server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request)
      const url = new URL(request.url ?? '', 'http://localhost')
      const key = decodeURIComponent(url.pathname.split('/').slice(2).join('/'))
      s3.requests.push(`${request.method} ${key}`)
      const failing = s3.failNext
      s3.failNext = null
      if (failing) return error(response, failing.status, failing.code)
      if (request.method === 'PUT') {
        if (request.headers['if-none-match'] === '*' && objects.has(key)) return error(response, 412, 'PreconditionFailed')
        objects.set(key, body)
        return answer(response, 200)
      }
      if (request.method === 'POST') {
        for (const [, deleted] of body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)) objects.delete(deleted ?? '')
        return answer(response, 200, '<DeleteResult></DeleteResult>')
      }
      if (url.searchParams.has('list-type'))
        return answer(response, 200, list(url.searchParams.get('prefix') ?? '', url.searchParams.get('continuation-token') ?? ''))
      const found = objects.get(key)
      return found ? answer(response, 200, found) : error(response, 404, 'NoSuchKey')
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = new S3Client({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forcePathStyle: true,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    maxAttempts: 1,
  })
  const s3: FakeS3 = {
    client,
    bucket: 'bucket',
    objects,
    requests: [],
    failNext: null,
    close: async () => {
      client.destroy()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
  return s3
}
