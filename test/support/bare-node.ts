/** Runs a function's files by a bare Node, as Lambda would: nothing around them, and no environment but what it is given. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type Outcome =
  | { kind: 'unloadable'; message: string }
  | { kind: 'answer'; value: unknown }
  | { kind: 'error'; name: string; message: string }

/** What Lambda itself sets, beside the function's own variables. */
const LAMBDA = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' }

const caller = (file: string, event: unknown): string => `
const say = (outcome) => console.log('\\n@' + JSON.stringify(outcome))
let module
try { module = await import(${JSON.stringify(`./${file}`)}) }
catch (error) { say({ kind: 'unloadable', message: String(error?.stack ?? error) }); process.exit(0) }
if (typeof module.handler !== 'function') { say({ kind: 'unloadable', message: 'there is no handler' }); process.exit(0) }
${event === undefined ? "say({ kind: 'answer', value: null }); process.exit(0)" : ''}
try { say({ kind: 'answer', value: (await module.handler(${JSON.stringify(event ?? null)}, { getRemainingTimeInMillis: () => 20000 })) ?? null }) }
catch (error) { say({ kind: 'error', name: error.name, message: error.message }) }
process.exit(0)
`

const run = (folder: string, script: string, env: Record<string, string>): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(process.execPath, [script], { cwd: folder, env: { ...LAMBDA, ...env }, timeout: 60_000 }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout),
    )
  })

/** Loads `file` of `folder` and, with an event, calls its handler once. */
export const invoke = async (folder: string, file: string, env: Record<string, string>, event?: unknown): Promise<Outcome> => {
  const script = `call-${file}`
  await writeFile(join(folder, script), caller(file, event))
  const said = (await run(folder, script, env)).split('\n').findLast((line) => line.startsWith('@'))
  if (!said) throw new Error(`${file} said nothing`)
  return JSON.parse(said.slice(1)) as Outcome
}

/** Those of `variables` without which `file` refuses to load, naming the one that is missing. */
export const unloadable = async (
  folder: string,
  file: string,
  env: Record<string, string>,
  variables: readonly string[],
): Promise<string[]> => {
  const missed: string[] = []
  for (const variable of variables) {
    const rest = Object.fromEntries(Object.entries(env).filter(([name]) => name !== variable))
    const outcome = await invoke(folder, file, rest)
    if (outcome.kind === 'unloadable' && outcome.message.includes(variable)) missed.push(variable)
  }
  return missed
}

/** Runs a script of the test's own beside the function's files; gives what it printed. */
export const runBeside = async (folder: string, name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return run(folder, name, {})
}
