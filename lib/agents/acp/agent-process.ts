/** The agent's process: started in a group of its own, and no process of the group outlives the turn or this process. */
import { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type ClientApp, type ClientContext, ndJsonStream } from '@agentclientprotocol/sdk'
import { redact } from '../../loop/redact.ts'
import { endTied, signalTied, spawnTied } from '../tied-process.ts'
import type { Place } from './place.ts'

export interface AgentProcess extends AsyncDisposable {
  agent: ClientContext
  /** Rejects when the process has ended, with how it ended. */
  ended: Promise<never>
  /** The cause of an error: a connection that was closed says less than how the process ended, which is known a moment later. */
  causeOf(thrown: unknown): Promise<unknown>
  /** Lets it end by itself, as its protocol has it: by the end of its input. After `ms` it is killed. */
  stop(ms: number): Promise<void>
}

const MOST_LINE = 300

/** Starts the agent and speaks to it as `app`. That it cannot be started is told by `ended`. */
export const startAgent = (app: ClientApp, [program, ...args]: readonly [string, ...string[]], place: Place): AgentProcess => {
  let said = ''
  const child = spawnTied({ command: program, args, cwd: place.work, env: place.environment }, (text) => {
    said = `${said}${text}`.slice(-MOST_LINE * 10)
  })
  // What is written to a process that has gone is of no interest: that it has gone is told.
  child.stdin.on('error', () => undefined)
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`it cannot be started: ${error.message}`))
    child.once('close', (code, signal) => {
      const line = said.trim().split('\n').at(-1)?.trim() ?? ''
      resolve(
        `it ended ${code === null ? `by ${signal}` : `with code ${code}`}${line === '' ? '' : `: ${redact(line).slice(0, MOST_LINE)}`}`,
      )
    })
  })
  const ended = exited.then((how): never => {
    throw new Error(how)
  })
  ended.catch(() => undefined)
  const connection = app.connect(
    ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>, { maxMessageBytes: 64_000_000 }),
  )
  connection.closed.catch(() => undefined)
  const end = async (): Promise<void> => {
    await endTied(child)
    connection.close()
  }
  return {
    agent: connection.agent,
    ended,
    causeOf: (thrown) => {
      const isClosed = thrown instanceof Error && /connection closed/i.test(thrown.message)
      return isClosed ? Promise.race([exited.then((how) => new Error(how)), wait(1000, thrown)]) : Promise.resolve(thrown)
    },
    stop: async (ms) => {
      child.stdin.end()
      const isOver = await Promise.race([exited.then(() => true), wait(ms / 2, false)])
      if (!isOver) {
        signalTied(child, 'SIGTERM')
        await Promise.race([exited, wait(ms / 2)])
      }
      await end()
    },
    [Symbol.asyncDispose]: end,
  }
}
