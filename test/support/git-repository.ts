/** Throwaway git repositories for tests: real git, no configuration of the machine, fixed author and times. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A folder below the system's temporary one; its real path, so that it can be compared. The caller removes it. */
export const temporaryFolder = async (name = 'reviewloop-test-'): Promise<string> => realpath(await mkdtemp(join(tmpdir(), name)))

export interface FileOptions {
  executable?: boolean
  /** The content is the target of a symbolic link. */
  link?: boolean
}

export interface TestRepository {
  /** Working tree, or the bare repository. */
  readonly path: string
  /** Runs git in it and gives stdout without the last line end. */
  git(...args: string[]): Promise<string>
  /** Writes a file of the working tree, with its folders. */
  write(path: string, content: string | Uint8Array, options?: FileOptions): Promise<void>
  remove(path: string): Promise<void>
  read(path: string): Promise<Buffer>
  /** Commits all that is in the working tree and gives the commit id. `files` are written first; null removes one. */
  commit(message: string, files?: Record<string, string | Uint8Array | null>): Promise<string>
  /** Makes a branch at HEAD and goes to it. */
  branch(name: string): Promise<void>
  switchTo(name: string): Promise<void>
  /** Commit of a revision; HEAD if none is named. */
  id(revision?: string): Promise<string>
  /** Removes the repository. */
  close(): Promise<void>
}

const environment = (clock: number): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ann Author',
  GIT_AUTHOR_EMAIL: 'ann@example.com',
  GIT_COMMITTER_NAME: 'Ann Author',
  GIT_COMMITTER_EMAIL: 'ann@example.com',
  GIT_AUTHOR_DATE: `${clock} +0000`,
  GIT_COMMITTER_DATE: `${clock} +0000`,
})

/** A repository around an existing folder; closing it removes the folder. */
export const repositoryAt = (path: string): TestRepository => {
  let clock = 1_700_000_000
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('git', args, { cwd: path, env: environment(clock), maxBuffer: 256 * 1024 * 1024 })
    return stdout.replace(/\n$/, '')
  }
  const write = async (name: string, content: string | Uint8Array, options: FileOptions = {}): Promise<void> => {
    const file = join(path, name)
    await mkdir(dirname(file), { recursive: true })
    if (options.link) return symlink(String(content), file)
    await writeFile(file, content)
    if (options.executable) await chmod(file, 0o755)
  }
  const remove = (name: string): Promise<void> => rm(join(path, name), { recursive: true, force: true })
  const id = (revision = 'HEAD'): Promise<string> => git('rev-parse', '--verify', `${revision}^{commit}`)
  return {
    path,
    git,
    write,
    remove,
    id,
    read: (name) => readFile(join(path, name)),
    commit: async (message, files = {}) => {
      for (const [name, content] of Object.entries(files)) await (content === null ? remove(name) : write(name, content))
      clock += 60
      await git('add', '--all', '--force', '.')
      await git('commit', '--quiet', '--allow-empty', '--no-verify', '-m', message)
      return id()
    },
    branch: async (name) => void (await git('switch', '--quiet', '--create', name)),
    switchTo: async (name) => void (await git('switch', '--quiet', name)),
    close: () => rm(path, { recursive: true, force: true }),
  }
}

/** An empty repository whose branch is main; or a bare one. */
export const makeRepository = async (options: { bare?: boolean } = {}): Promise<TestRepository> => {
  const repository = repositoryAt(await temporaryFolder())
  await repository.git('init', '--quiet', '--initial-branch=main', ...(options.bare ? ['--bare'] : []), '.')
  // Bytes are committed as they were written, whatever a .gitattributes of the test says.
  if (!options.bare) await repository.write('.git/info/attributes', '* -text\n')
  return repository
}

/** A repository with one commit on main, and a branch `change` with one more on it, which is checked out. */
export const makeChange = async (
  before: Record<string, string | Uint8Array>,
  after: Record<string, string | Uint8Array | null>,
): Promise<{ repository: TestRepository; base: string; head: string }> => {
  const repository = await makeRepository()
  const base = await repository.commit('base', before)
  await repository.branch('change')
  const head = await repository.commit('change', after)
  return { repository, base, head }
}

/** Every file of a folder with its kind, mode and hash (of a link, its target): equal before and after means nothing was touched. */
export const fingerprintOf = async (folder: string): Promise<Record<string, string>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const lines = await Promise.all(
    entries.map(async (entry): Promise<[string, string]> => {
      const path = join(entry.parentPath, entry.name)
      const mode = ((await lstat(path)).mode & 0o7777).toString(8)
      if (entry.isSymbolicLink()) return [path, `link ${await readlink(path)}`]
      if (entry.isDirectory()) return [path, `folder ${mode}`]
      return [
        path,
        `file ${mode} ${createHash('sha256')
          .update(await readFile(path))
          .digest('hex')}`,
      ]
    }),
  )
  return Object.fromEntries(lines.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
