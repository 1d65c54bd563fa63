/** `npm run generate` writes what is made from code; with --check it writes nothing and fails where a file differs. */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { loopDefinition } from '../lib/infra/loop-definition.ts'
import { errorsPage } from '../lib/loop/errors-page.ts'
import { openapi } from '../lib/loop/openapi.ts'
import { editorSchema } from '../lib/loop/settings-example.ts'
import { placeholderArn } from '../lib/names.ts'
import { agentsTable, deploymentTable, retryTable, routesTable, settingsTable, stateTable } from './tables.ts'
import { permissionsTable } from './permissions.ts'
import packageJson from '../package.json' with { type: 'json' }

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Puts a table between the two comments of its name; what stands around it is written by hand. */
const withTable = (page: string, name: string, table: string): string => {
  const place = new RegExp(`(<!-- ${name}: made by npm run generate -->\\n)[^]*?(<!-- /${name} -->)`)
  if (!place.test(page)) throw new Error(`no place for the table "${name}"`)
  return page.replace(place, (_all, before: string, after: string) => `${before}\n${table}\n${after}`)
}

/** npm 11 notes the C library of a package and npm 10 takes the note out again: without it an install by either changes nothing. */
const withoutLibc = (lock: string): string => {
  const parsed = JSON.parse(lock) as { packages: Record<string, { libc?: unknown }> }
  for (const entry of Object.values(parsed.packages)) delete entry.libc
  return json(parsed)
}

/** Each generated file: what it should hold, given what it holds. */
const FILES: Record<string, (now: string) => string> = {
  'docs/api.md': (page) => withTable(page, 'routes', routesTable()),
  'docs/agents.md': (page) => withTable(page, 'agents', agentsTable()),
  'docs/deploy.md': (page) => withTable(page, 'settings', deploymentTable()),
  'docs/errors.md': errorsPage,
  'docs/security.md': (page) => withTable(page, 'permissions', permissionsTable()),
  'docs/configuration.md': (page) => withTable(page, 'keys', settingsTable()),
  'docs/state-machine.md': (page) => withTable(withTable(page, 'states', stateTable()), 'retries', retryTable()),
  'docs/reviewloop.schema.json': () => json(editorSchema()),
  'docs/openapi.json': () => json(openapi(packageJson.version)),
  'lib/local/loop-machine.asl.json': () => json(loopDefinition(placeholderArn)),
  'package-lock.json': withoutLibc,
}

const check = process.argv.includes('--check')
for (const [name, make] of Object.entries(FILES)) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url))
  const now = await readFile(file, 'utf8').catch(() => '')
  const then = make(now)
  if (now === then) continue
  console.log(check ? `${name} is not what the code makes of it: npm run generate` : `wrote ${name}`)
  if (check) process.exitCode = 1
  else await writeFile(file, then)
}
