import { dataFolderPath } from '../../lib/local/data-path.ts'
import { shellWord } from '../../lib/loop/take-fixes.ts'

/** How this program was called, so that what it tells people to type is what works for them. */
type Env = Readonly<Record<string, string | undefined>>

const throughNpm = (env: Env): boolean => env['npm_package_name'] === 'reviewloop' && Boolean(env['npm_lifecycle_event'])

export const commandName = (env: Env = process.env): string => (throughNpm(env) ? 'npm run reviewloop --' : 'reviewloop')

/** `reviewloop show` in a text, as it has to be typed here. */
export const asTyped = (text: string, env: Env = process.env): string => text.replace(/\breviewloop (?=[a-z])/g, `${commandName(env)} `)

/** A command on a data folder, as it has to be typed here: the folder is named where it is not the one that is used by itself. */
export const commandOn = (dataFolder: string, words: string, env: Env = process.env): string =>
  `${commandName(env)} ${words}${dataFolder === dataFolderPath(undefined) ? '' : ` --data ${shellWord(dataFolder)}`}`

/** npm changes to the package's folder; paths are meant from where the command was typed. */
export const typedIn = (env: Env = process.env, cwd: string = process.cwd()): string => (throughNpm(env) && env['INIT_CWD']) || cwd
