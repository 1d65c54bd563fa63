/** The suites that open tables: all of them run a second time, on DynamoDB Local. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What holds the two engines against each other, and so runs where both are. */
export const DYNAMODB_LOCAL = 'test/integration/dynamodb-local*.test.ts'

const FOLDER = 'test/integration'
/** What opens tables, or has them opened. */
const OPENS = /from '\.\.\/support\/(?:tables|session-run)\.ts'/
const OF_BOTH = /^dynamodb-local/

const root = fileURLToPath(new URL('../..', import.meta.url))

export const suitesOnTables = (): string[] =>
  readdirSync(join(root, FOLDER))
    .filter((file) => file.endsWith('.test.ts') && !OF_BOTH.test(file) && OPENS.test(readFileSync(join(root, FOLDER, file), 'utf8')))
    .map((file) => `${FOLDER}/${file}`)
