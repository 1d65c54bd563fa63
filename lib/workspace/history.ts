/** The commits of a change: which they are, and what their authors say. */
import { git, gitText, type GitOptions } from './git.ts'

const MOST_COMMITS = 1000

/** Commits between merge base and head, the newest first. */
export const historyOf = async (mergeBase: string, head: string, options: GitOptions): Promise<string[]> =>
  (await gitText(['rev-list', `--max-count=${MOST_COMMITS}`, head, `^${mergeBase}`], options)).split('\n').filter(Boolean)

const MOST_MESSAGES = 50
const MOST_MESSAGE = 2000
const MOST_MESSAGE_BYTES = 256 * 1024

const cut = (text: string): string => (text.length > MOST_MESSAGE ? `${text.slice(0, MOST_MESSAGE)} …` : text)

/** What the author says of the change. Past the bound git's output is dropped: a message may be of any size, and there may be any number. */
export const messagesOf = async (mergeBase: string, head: string, options: GitOptions): Promise<string[]> => {
  const chunks: Buffer[] = []
  let bytes = 0
  const onStdout = (chunk: Buffer): void => {
    if (bytes < MOST_MESSAGE_BYTES) chunks.push(chunk.subarray(0, MOST_MESSAGE_BYTES - bytes))
    bytes += chunk.length
  }
  await git(['log', '-z', '--format=%B', `--max-count=${MOST_MESSAGES}`, head, `^${mergeBase}`], { ...options, onStdout })
  const messages = Buffer.concat(chunks).toString('utf8').split('\0')
  return messages.map((message) => cut(message.trim())).filter(Boolean)
}
