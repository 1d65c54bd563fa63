/** The fix commits as one patch for people, in text that `git apply` takes. */
import { writeFile } from 'node:fs/promises'
import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import { DIFF } from './diff-read.ts'
import { boundsOf, git, type GitOptions } from './git.ts'
import { borrowObjects, initRepository } from './local-source.ts'
import type { SnapshotRepository } from './snapshot-repository.ts'

const MAX_BYTES = 256 * 1024 * 1024

/**
 * Head against a later commit; '' where they are equal. A file whose text is not UTF-8 would not survive as a string: then
 * git prints every file in its binary form, which is plain ASCII. `spare` is a folder that is free for the repository that needs.
 */
export const readPatch = async (repository: SnapshotRepository, spare: string, from: string, to: string): Promise<string> => {
  const args = [...DIFF, '--patch', '--binary', from, to]
  const options: GitOptions = { ...repository.options, maxBytes: MAX_BYTES }
  const patch = await git(args, options)
  if (isUtf8(patch)) return patch.toString('utf8')
  await initRepository(spare, boundsOf(options))
  await borrowObjects(spare, join(repository.gitDir, 'objects'))
  await writeFile(join(spare, 'info', 'attributes'), '* -diff\n')
  return (await git(args, { ...options, env: { GIT_DIR: spare } })).toString('utf8')
}
