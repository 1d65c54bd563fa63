/** What is in the stores, read past every fault: the table's raw items and every file of the data folder. */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { ScanCommand } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { type BranchItem, branchItem, type RunItem, turnItem, type TurnItem } from '../../../lib/loop/items.ts'
import { dynamoRuns } from '../../../lib/stores/dynamodb/runs.ts'
import { TURN_ROLES } from '../../../lib/names.ts'
import type { World } from './world.ts'

export const readItem = (world: World, runId: string): Promise<RunItem | null> =>
  dynamoRuns({ client: world.client, table: 'Runs' }).runs.read(runId)

export const historyOf = (world: World, runId: string) => dynamoRuns({ client: world.client, table: 'Runs' }).turns(runId)

export interface Tables {
  turnItems: TurnItem[]
  branches: BranchItem[]
  /** Every item as text, with its key. */
  texts: { key: string; text: string }[]
}

export const readTables = async ({ client }: World): Promise<Tables> => {
  const scans = ['Sessions', 'Runs'].map(async (TableName) => (await client.send(new ScanCommand({ TableName }))).Items ?? [])
  const [sessions = [], runs = []] = (await Promise.all(scans)).map((items) => items.map((item) => unmarshall(item)))
  const bare = ({ pk: _pk, sk: _sk, ...item }: Record<string, unknown>) => item
  return {
    turnItems: sessions.map((item) => turnItem.parse(bare(item))),
    branches: runs.filter(({ sk }) => sk === 'branch').map((item) => branchItem.parse(bare(item))),
    texts: [...sessions, ...runs].map((item) => ({ key: `${item['pk']} ${item['sk'] ?? ''}`.trim(), text: JSON.stringify(item) })),
  }
}

/** All files of the data folder but those of the table itself, whose log keeps what was overwritten for a while. */
export const readFiles = async ({ folder }: World): Promise<{ path: string; text: string }[]> => {
  const entries = await readdir(folder.path, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder.path, join(entry.parentPath, entry.name)))
    .filter((path) => !/^(tables|lock)\//.test(path))
  return Promise.all(paths.map(async (path) => ({ path, text: (await readFile(join(folder.path, path))).toString('latin1') })))
}

/** The role of an object's or an item's key, where it is one's own. */
export const ownerOf = (key: string): { runId: string; role: (typeof TURN_ROLES)[number] } | null => {
  const runId = /r-[0-9a-f]{16}/.exec(key)?.[0]
  const role = TURN_ROLES.find((name) => key.startsWith(`artifacts/transcripts/${name}/`) || key === `${runId}#${name}`)
  return runId && role ? { runId, role } : null
}
