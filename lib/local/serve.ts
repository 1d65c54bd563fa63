/** The loop as a service of this machine: its API, and every run that has not ended. */
import type { Deployment } from '../loop/deployment.ts'
import { type ApiServer, serveApi } from './api-server.ts'
import { attend, resumeAll } from './attend.ts'
import { ownDataFolder } from './data-folder.ts'
import { type LoopOptions, openLoop } from './local-loop.ts'

export interface ServeOptions extends Omit<LoopOptions, 'waits' | 'deployment'> {
  /** Path of the data folder, which this process then owns. */
  data: string
  /** 0: any that is free. */
  port: number
  deployment: Deployment
  /** Who decides and ends, as the record names them. */
  user: string
}

export interface Service extends Pick<ApiServer, 'url' | 'token'> {
  /** Runs that went on with the start. */
  resumed: string[]
  /** Lets go in order: no more requests, leases given back, the folder free. */
  close(): Promise<void>
}

/** Errors: DataFolderBusy, BadRequest, and those of the stores. */
export const serve = async ({ data, port, user, ...options }: ServeOptions): Promise<Service> => {
  const folder = await ownDataFolder(data)
  try {
    const loop = await openLoop(folder, { ...options, waits: true })
    const over = new AbortController()
    const server = await serveApi(loop.ports, { port, user })
    const resumed = await resumeAll(loop)
    const attending = attend(loop, over.signal)
    let closing: Promise<void> | null = null
    const close = async (): Promise<void> => {
      const closed = server.close()
      over.abort()
      await attending
      await loop.engine.interrupt()
      await closed
      loop.close()
      await folder.close()
    }
    return { url: server.url, token: server.token, resumed, close: () => (closing ??= close()) }
  } catch (error) {
    await folder.close()
    throw error
  }
}
