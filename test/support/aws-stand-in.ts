/** Stands in for AWS on loopback: every table is empty, every bucket too, and what was asked is remembered. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface StandIn extends AsyncDisposable {
  url: string
  /** Operations in the order they came: `DynamoDB.GetItem`, `S3.GET` … */
  calls: string[]
}

const NO_SUCH_KEY = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code><Message>none</Message></Error>'

export const awsStandIn = async (): Promise<StandIn> => {
  const calls: string[] = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const target = request.headers['x-amz-target']
      if (typeof target === 'string') {
        const [service = '', operation = ''] = target.split('.')
        calls.push(`${service.replace(/_\d+$/, '')}.${operation}`)
        const answer = operation === 'GetSecretValue' ? { SecretString: 'a-token' } : operation === 'Query' ? { Items: [], Count: 0 } : {}
        response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(answer))
      } else {
        calls.push(`S3.${request.method}`)
        response
          .writeHead(request.method === 'GET' ? 404 : 200, { 'content-type': 'application/xml' })
          .end(request.method === 'GET' ? NO_SUCH_KEY : '')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
