/** The DynamoDB client: of a region, or of the embedded table behind a Unix socket. The same SDK speaks to both. */
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { NodeHttpHandler } from '@smithy/node-http-handler'

/** Whatever the address says, the connection goes to the socket. */
class SocketAgent extends Agent {
  readonly #path: string

  constructor(path: string) {
    super({ keepAlive: true })
    this.#path = path
  }

  override createConnection(): Socket {
    return connect(this.#path)
  }
}

/** In AWS: region and credentials come from the environment, as the SDK finds them. */
export const dynamoClient = (options: { region?: string; endpoint?: string } = {}): DynamoDBClient => new DynamoDBClient(options)

/** The embedded table. Nothing is taken from the user's AWS settings, and nothing leaves the machine. */
export const socketClient = (socketPath: string): DynamoDBClient =>
  new DynamoDBClient({
    region: 'us-east-1',
    endpoint: 'http://localhost',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    requestHandler: new NodeHttpHandler({ httpAgent: new SocketAgent(socketPath) }),
  })
