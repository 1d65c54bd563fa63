/** Canaries: values that no output may ever hold, and the search for them, in the clear or in any spelling that gives them back. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Of no shape that anybody would know, and not to be found by chance. */
export const CANARIES = {
  gitToken: 'tweety-5fK2pQ9xGitToken',
  awsSecret: 'tweety+8sL/4mZ7AwsSecretKey',
  awsSession: 'tweety=1vB6nR3AwsSessionToken',
  modelKey: 'tweety-7yH0cD5ModelKey',
  proxy: 'tweety-2wJ8tX4ProxyPassword',
} as const

/** The environment of a process that was given all of them. */
const CANARY_ENV: Record<string, string> = {
  REVIEWLOOP_GIT_TOKEN: CANARIES.gitToken,
  AWS_ACCESS_KEY_ID: ['AKIA', 'TWEETYTWEETYTWEE'].join(''),
  AWS_SECRET_ACCESS_KEY: CANARIES.awsSecret,
  AWS_SESSION_TOKEN: CANARIES.awsSession,
  ANTHROPIC_API_KEY: CANARIES.modelKey,
  HTTPS_PROXY: `http://ada:${CANARIES.proxy}@127.0.0.1:9`,
}

const spelled = (text: string): string[] =>
  [0, 1, 2]
    .map((before) => {
      const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)])
      return bytes.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 8) / 6))
    })
    .concat(text, encodeURIComponent(text))

/** Those of the values that a text holds, by name. */
export const canariesIn = (text: string, values: Readonly<Record<string, string>> = CANARIES): string[] =>
  Object.entries(values).flatMap(([name, value]) => (spelled(value).some((one) => text.includes(one)) ? [name] : []))

/** The same of every file below a folder, the database's own included: `file: name`. */
export const canariesBelow = async (folder: string, values: Readonly<Record<string, string>> = CANARIES): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const found = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name)
        return canariesIn(await readFile(path, 'latin1'), values).map((name) => `${path}: ${name}`)
      }),
  )
  return found.flat()
}

/** With a slash at its end. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a script by the launcher, in a process that was given the canaries. */
export const runWithCanaries = async (
  script: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<{ code: number | null; stdout: string; stderr: string }> => {
  const child = spawn(process.execPath, [join(ROOT, 'bin/node.mjs'), script, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, TMPDIR: tmpdir(), ...CANARY_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (text.stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (text.stderr += String(chunk)))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...text }
}
