/** The embedded tables: dynalite in process, on disk, on a private socket. */
import { chmod } from 'node:fs/promises'
import { request } from 'node:http'
import dynalite from 'dynalite'

export interface TableServer {
  close(): Promise<void>
}

/** Serves the tables of `folder` on a Unix socket that only this user can connect to. */
export const serveTables = async (folder: string, socket: string): Promise<TableServer> => {
  const server = dynalite({ path: folder, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  if (process.platform !== 'win32') await chmod(socket, 0o600)
  return {
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

/** Whether anybody serves tables on the socket. */
export const answers = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = request({ socketPath: socket, path: '/', timeout: 5000 }, (response) => {
      response.resume()
      response.on('end', () => resolve(true))
    })
    probe.on('timeout', () => probe.destroy(new Error('no answer')))
    probe.on('error', () => resolve(false))
    probe.end()
  })
