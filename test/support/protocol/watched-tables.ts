/** A worker's way to the tables: every command is a point, and every put that took is shown to the monitor. */
import { type GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { Worker } from './worker.ts'
import { keyOf, noAnswer, type TableClient } from './tables.ts'
import type { World } from './world.ts'

export const watched = (world: World, worker: Worker): TableClient => ({
  send: (command) => {
    const what = nameOf(command)
    return world.scheduler.effect(worker, {
      what,
      writes: command instanceof PutItemCommand,
      perform: async () => {
        const answer = await world.tables.send(command)
        if (command instanceof PutItemCommand) {
          const { TableName = '', Item = {} } = command.input
          world.monitor.written(worker, TableName, keyOf(TableName, Item), unmarshall(Item))
        }
        return answer
      },
      lost: noAnswer,
    })
  },
})

const nameOf = (command: unknown): string => {
  const { TableName = '', Key = {}, Item = Key } = (command as GetItemCommand & PutItemCommand).input
  const operation = (command as object).constructor.name.replace('Command', '')
  return `${operation} ${keyOf(TableName, Item)}${command instanceof PutItemCommand ? ` rev ${Item['rev']?.N ?? '-'}` : ''}`
}
