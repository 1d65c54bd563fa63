/** Runs a function's files by a bare Node, as Lambda would: nothing around them, and no environment but what it is given. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type Outcome =
  | { kind: 'unloadable'; message: string }
  | { kind: 'answer'; value: unknown }
  | { kind: 'error'; name: string; message: string }

/** What Lambda itself sets, beside the function's own variables. */
const LAMBDA = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' }

const caller = (file: string, event: object): string => `
const say = (outcome) => console.log('\\n@' + JSON.stringify(outcome))
let module
try { module = await import(${JSON.stringify(`./${file}`)}) }
catch (error) { say({ kind: 'unloadable', message: String(error?.stack ?? error) }); process.exit(0) }
if (typeof module.handler !== 'function') { say({ kind: 'unloadable', message: 'there is no handler' }); process.exit(0) }
try { say({ kind: 'answer', value: (await module.handler(${JSON.stringify(event)}, { getRemainingTimeInMillis: () => 20000 })) ?? null }) }
catch (error) { say({ kind: 'error', name: error.name, message: error.message }) }
process.exit(0)
`

/** A function has the temporary folder to itself and clears it: here it gets one of its own. */
const run = async (folder: string, script: string, env: Record<string, string>): Promise<string> => {
  const temporary = await mkdtemp(join(folder, 'tmp-'))
  try {
    return await new Promise<string>((resolve, reject) => {
      const options = { cwd: folder, env: { ...LAMBDA, TMPDIR: temporary, ...env }, timeout: 60_000 }
      execFile(process.execPath, [script], options, (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout),
      )
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** The line meant for the test; the function's own log is on stdout too. */
const saidBy = (stdout: string): string => {
  const line = stdout.split('\n').findLast((each) => each.startsWith('@'))
  if (!line) throw new Error(`nothing was said: ${stdout}`)
  return line.slice(1)
}

/** Loads `file` of `folder` and calls its handler once. */
export const invoke = async (folder: string, file: string, env: Record<string, string>, event: object): Promise<Outcome> => {
  const script = `call-${file}`
  await writeFile(join(folder, script), caller(file, event))
  return JSON.parse(saidBy(await run(folder, script, env))) as Outcome
}

const loader = (file: string, variables: readonly string[]): string => `
const missed = []
for (const variable of ${JSON.stringify(variables)}) {
  const { [variable]: value } = process.env
  delete process.env[variable]
  await import('./${file}?without=' + variable).catch((error) => { if (String(error.message).includes(variable)) missed.push(variable) })
  process.env[variable] = value
}
console.log('\\n@' + JSON.stringify(missed))
process.exit(0)
`

/** Those of `variables` without which `file` refuses to load, naming the one that is missing. */
export const unloadable = async (
  folder: string,
  file: string,
  env: Record<string, string>,
  variables: readonly string[],
): Promise<string[]> => {
  const script = `load-${file}`
  await writeFile(join(folder, script), loader(file, variables))
  return JSON.parse(saidBy(await run(folder, script, env))) as string[]
}

/** Runs a script of the test's own beside the function's files; gives what it printed. */
export const runBeside = async (folder: string, name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return run(folder, name, {})
}
