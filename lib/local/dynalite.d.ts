declare module 'dynalite' {
  import type { Server } from 'node:http'
  /** Serves DynamoDB's protocol from a LevelDB folder (`path`), or from memory. */
  export default function dynalite(options?: {
    path?: string
    createTableMs?: number
    deleteTableMs?: number
    updateTableMs?: number
    maxItemSizeKb?: number
  }): Server
}
