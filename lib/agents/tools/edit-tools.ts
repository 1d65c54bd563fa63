/** Tools that edit the workspace, confined as the port confines them. Line ends and byte order marks stay as the file has them. */
import * as z from 'zod'
import type { AgentTurn } from '../../loop/agent.ts'
import type { EditFiles } from '../../loop/workspace.ts'
import { type Tool, tool, ToolRefusal } from './tool.ts'

const file = z.string().min(1).max(4096).describe('Path from the root of the repository, with forward slashes.')
const MOST_CONTENT = 2_000_000
const BOM = '\ufeff'

const editsOf = ({ edits }: AgentTurn): EditFiles => {
  if (!edits) throw new ToolRefusal('this role only reads')
  return edits
}

const textOf = async ({ files }: AgentTurn, path: string): Promise<string | null> => {
  const bytes = await files.read(path)
  return bytes ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) : null
}

/** Every line of the file ends with CR LF. */
const isCrlf = (text: string): boolean => text.includes('\r\n') && !/(?:^|[^\r])\n/.test(text)
/** Models write LF. */
const withEndsOf = (present: string, text: string): string =>
  isCrlf(present) && !text.includes('\r') ? text.replaceAll('\n', '\r\n') : text

const editFile = tool(
  'edit_file',
  'Replaces a text that stands once in a file. Refused where it stands nowhere or more than once: then give more of the lines around it.',
  z.strictObject({
    file,
    before: z.string().min(1).max(MOST_CONTENT).describe('The text as it stands in the file now, to the letter, without line numbers.'),
    after: z.string().max(MOST_CONTENT).describe('The text to stand there instead.'),
  }),
  async ({ file: path, before, after }, turn) => {
    const present = (await textOf(turn, path)) ?? ''
    await editsOf(turn).edit(path, withEndsOf(present, before), withEndsOf(present, after))
    return 'Replaced.'
  },
)

const writeFile = tool(
  'write_file',
  'Creates a file, or replaces all of its content. To change part of a file use edit_file.',
  z.strictObject({ file, content: z.string().max(MOST_CONTENT) }),
  async ({ file: path, content }, turn) => {
    const present = await textOf(turn, path)
    const mark = present?.startsWith(BOM) && !content.startsWith(BOM) ? BOM : ''
    await editsOf(turn).write(path, new TextEncoder().encode(mark + withEndsOf(present ?? '', content)))
    return 'Written.'
  },
)

const deleteFile = tool('delete_file', 'Deletes a file.', z.strictObject({ file }), async ({ file: path }, turn) => {
  if (!(await turn.files.read(path, Number.MAX_SAFE_INTEGER))) throw new ToolRefusal('there is no such file')
  await editsOf(turn).remove(path)
  return 'Deleted.'
})

export const EDIT_TOOLS: readonly Tool[] = [editFile, writeFile, deleteFile]
