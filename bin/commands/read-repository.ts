import { LoopError } from '../../lib/loop/errors.ts'
import { shellWord } from '../../lib/loop/take-fixes.ts'
import { readLocalRepository, type LocalRepository } from '../../lib/workspace/local-repository.ts'
import { commandName } from '../terminal/command-name.ts'

export interface WantedCommits {
  head?: string
  base?: string
}

/** A base that would do, found as if none had been named. */
const baseThatWouldDo = async (path: string, { head }: WantedCommits): Promise<string | null> =>
  readLocalRepository(path, head === undefined ? {} : { head }).then(
    ({ base }) => base.name,
    () => null,
  )

const naming = (base: string): string => `\`${commandName()} run --base ${base}\``

/** What to do about a base that is missing, or from which the head did not come. */
const remedyFor = async (error: LoopError, path: string, wanted: WantedCommits): Promise<string | null> => {
  const isBase = error.name === 'NoCommit' && wanted.base !== undefined && error.details['revision'] === wanted.base
  if (!isBase && error.name !== 'NoBase') return null
  const other = wanted.base === undefined ? null : await baseThatWouldDo(path, wanted)
  if (other) return `Name a base that the head was made from, as in ${naming(shellWord(other))}.`
  const list = 'Name what the head was made from: a branch that `git branch --all` lists, or a commit of `git log`, as in'
  return `${list} ${naming('HEAD~1')}.${error.name === 'NoBase' ? ' In a shallow clone, `git fetch --unshallow` first.' : ''}`
}

/** As `readLocalRepository`, with errors about the base that say how to name another one. */
export const readRepository = async (path: string, wanted: WantedCommits): Promise<LocalRepository> => {
  try {
    return await readLocalRepository(path, wanted)
  } catch (error) {
    const remedy = error instanceof LoopError ? await remedyFor(error, path, wanted) : null
    if (!(error instanceof LoopError) || remedy === null) throw error
    throw new LoopError(error.name, error.message, { ...error.details, remedy }, { cause: error })
  }
}
