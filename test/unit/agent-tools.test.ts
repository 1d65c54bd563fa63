/** The tools of the agent `bedrock`: bounded, confined by the port, and plain about what they refuse. */
import { describe, expect, it } from 'vitest'
import { EDIT_TOOLS } from '../../lib/agents/tools/edit-tools.ts'
import { READ_TOOLS } from '../../lib/agents/tools/read-tools.ts'
import { runTool } from '../../lib/agents/tools/tool.ts'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import { agentTurn, fixTask, reviewTask } from '../support/agent-turn.ts'
import { fileDiff, MemoryFiles } from '../support/memory-files.ts'

const TOOLS = [...READ_TOOLS, ...EDIT_TOOLS]
const use = (name: string, input: unknown, files: MemoryFiles, more: Partial<AgentTurn> = {}) =>
  runTool(TOOLS, { id: 'call', name, input }, agentTurn(fixTask([], []), files, more))
const text = async (...given: Parameters<typeof use>): Promise<string> => (await use(...given)).text

describe('list_files', () => {
  it('lists all, or a folder, and says what it left out', async () => {
    const files = new MemoryFiles({ 'a.ts': '', 'src/b.ts': '', 'srcs/c.ts': '' })
    expect(await text('list_files', {}, files)).toBe('a.ts\nsrc/b.ts\nsrcs/c.ts')
    for (const folder of ['src', 'src/', './src']) expect(await text('list_files', { folder }, files)).toBe('src/b.ts')
    expect(await text('list_files', { folder: 'none' }, files)).toContain('no file')
    const many = new MemoryFiles(Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`f${at}`, ''])))
    expect(await text('list_files', {}, many)).toMatch(/… and 100 more: name a folder$/)
  })

  it('keeps a name on its line', async () => {
    expect(await text('list_files', {}, new MemoryFiles({ 'a\nb': '' }))).toBe('"a\\nb"')
  })
})

describe('read_file', () => {
  it('numbers the lines and says how to go on', async () => {
    const files = new MemoryFiles({ 'a.ts': 'one\r\ntwo\u2028still two\n', long: 'x\n'.repeat(700) })
    expect(await text('read_file', { file: 'a.ts' }, files)).toBe('     1 one\n     2 two\u2028still two')
    expect(await text('read_file', { file: 'long' }, files)).toMatch(/\n {3}500 x\n… and 200 more lines: read from line 501$/)
    expect(await text('read_file', { file: 'long', line: 501 }, files)).toMatch(/^ {3}501 x\n[^]*\n {3}700 x$/)
    expect(await text('read_file', { file: 'long', line: 900 }, files)).toBe('The file has 700 lines.')
  })

  it('cuts a line that is a whole file', async () => {
    expect(await text('read_file', { file: 'a' }, new MemoryFiles({ a: 'x'.repeat(9_000_000) }))).toMatch(
      /^ {5}1 x{2000} … and 8998000 more characters$/,
    )
  })

  it.each([
    ['none', 'there is no such file'],
    ['binary', 'binary'],
    ['../out', 'leads out'],
  ])('refuses %s', async (file, why) => {
    const result = await use('read_file', { file }, new MemoryFiles({ binary: new Uint8Array([65, 0, 66]) }))
    expect(result).toMatchObject({ ok: false, text: expect.stringContaining(why) as string })
  })
})

describe('search', () => {
  it('finds to the letter, in a folder, and stops at many', async () => {
    const files = new MemoryFiles({
      'a.ts': 'f(.*)\nf(x)\n',
      'src/b.ts': 'f(.*)\n',
      c: new Uint8Array([0, 102, 40]),
      many: 'hit\n'.repeat(200),
    })
    expect(await text('search', { text: 'f(.*)' }, files)).toBe('a.ts:1: f(.*)\nsrc/b.ts:1: f(.*)')
    expect(await text('search', { text: 'f(.*)', folder: 'src' }, files)).toBe('src/b.ts:1: f(.*)')
    expect(await text('search', { text: 'nowhere' }, files)).toBe('No line holds that text.')
    expect((await text('search', { text: 'hit' }, files)).split('\n')).toHaveLength(101)
  })

  it('ends when the turn is interrupted', async () => {
    const turn = { signal: AbortSignal.abort() }
    await expect(use('search', { text: 'a' }, new MemoryFiles({ a: 'a' }), turn)).rejects.toThrow('abort')
  })
})

describe('diff', () => {
  it('shows the change of one file, in parts where it is large', async () => {
    const diff = [fileDiff('a.ts', 'one\n', 'two\n'), fileDiff('new.ts', null, 'a line of it\n'.repeat(3000), { oldPath: 'old.ts' })]
    const turn = { prompt: { kind: 'task' as const, task: reviewTask(diff) } }
    expect(await text('diff', { file: 'a.ts' }, new MemoryFiles(), turn)).toBe(
      'modified "a.ts"\n@@ from line 1\n       - one\n     1 + two',
    )
    expect(await text('diff', { file: 'old.ts', part: 2 }, new MemoryFiles(), turn)).toMatch(
      /^added "new.ts" from "old.ts" \(continued\)\n[^]*\(part 2 of \d+\)$/,
    )
    expect(await use('diff', { file: 'new.ts', part: 99 }, new MemoryFiles(), turn)).toMatchObject({ ok: false })
    expect(await use('diff', { file: 'other.ts' }, new MemoryFiles(), turn)).toMatchObject({ ok: false })
  })
})

describe('edits', () => {
  it('replaces a text that stands once, and else refuses and changes nothing', async () => {
    const files = new MemoryFiles({ 'a.ts': 'one\ntwo\none\n' })
    expect(await text('edit_file', { file: 'a.ts', before: 'two', after: 'zwei' }, files)).toBe('Replaced.')
    expect(files.text('a.ts')).toBe('one\nzwei\none\n')
    for (const before of ['one', 'two']) {
      const result = await use('edit_file', { file: 'a.ts', before, after: 'x' }, files)
      expect(result).toMatchObject({ ok: false, text: expect.stringContaining('times') as string })
    }
    expect(files.text('a.ts')).toBe('one\nzwei\none\n')
  })

  it('keeps CR LF, also over several lines and in a file written anew', async () => {
    const files = new MemoryFiles({ 'a.ts': 'one\r\ntwo\r\n', mixed: 'one\r\ntwo\nthree\n' })
    await use('edit_file', { file: 'a.ts', before: 'one\ntwo', after: 'eins\nzwei' }, files)
    expect(files.text('a.ts')).toBe('eins\r\nzwei\r\n')
    await use('write_file', { file: 'a.ts', content: 'a\nb\n' }, files)
    expect(files.text('a.ts')).toBe('a\r\nb\r\n')
    await use('edit_file', { file: 'mixed', before: 'two\nthree', after: '2\n3' }, files)
    expect(files.text('mixed')).toBe('one\r\n2\n3\n')
  })

  it('keeps a byte order mark', async () => {
    const files = new MemoryFiles({ 'a.ts': '\ufeffone\n' })
    await use('write_file', { file: 'a.ts', content: 'two\n' }, files)
    expect(files.text('a.ts')).toBe('\ufefftwo\n')
  })

  it('creates and deletes', async () => {
    const files = new MemoryFiles({ old: 'x' })
    expect(await text('write_file', { file: 'new', content: '' }, files)).toBe('Written.')
    expect(await text('delete_file', { file: 'old' }, files)).toBe('Deleted.')
    expect(await files.list()).toEqual(['new'])
    expect(await use('delete_file', { file: 'old' }, files)).toMatchObject({ ok: false })
  })

  it('are refused to a role that only reads', async () => {
    const files = new MemoryFiles({ a: 'x' })
    for (const [name, input] of [
      ['edit_file', { file: 'a', before: 'x', after: 'y' }],
      ['write_file', { file: 'a', content: 'y' }],
      ['delete_file', { file: 'a' }],
    ] as const)
      expect(await use(name, input, files, { edits: null })).toMatchObject({ ok: false, text: 'this role only reads' })
    expect(files.touched).toEqual([])
  })
})

describe('any tool', () => {
  it('refuses input that does not fit, and names that are none', async () => {
    const files = new MemoryFiles()
    for (const { name } of TOOLS) expect(await use(name, { nonsense: 1 }, files)).toMatchObject({ ok: false })
    expect(await use('shell', { command: 'env' }, files)).toMatchObject({
      ok: false,
      text: expect.stringContaining('there is no tool of that name') as string,
    })
  })

  it('throws what broke in it', async () => {
    const broken = { list: () => Promise.reject(new Error('broken')), read: () => Promise.reject(new Error('broken')) }
    await expect(use('list_files', {}, new MemoryFiles(), { files: broken })).rejects.toThrow('broken')
  })
})

describe('calls at once', () => {
  /** Reads, and writes a while after: what an edit by somebody else did in between is lost. */
  const slow = (files: MemoryFiles): AgentTurn['edits'] => ({
    edit: async (path, before, after) => {
      const present = files.text(path) ?? ''
      await new Promise((resolve) => setImmediate(resolve))
      await files.write(path, new TextEncoder().encode(present.replace(before, after)))
    },
    write: (path, bytes) => files.write(path, bytes),
    remove: (path) => files.remove(path),
  })

  it('are made one after the other, also past one that fails, and no edit is lost', async () => {
    const files = new MemoryFiles({ a: 'one two three' })
    const turn = agentTurn(fixTask([], []), files, { edits: slow(files) })
    const call = (name: string, input: object) => runTool(TOOLS, { id: '', name, input }, turn)
    const edit = (before: string, after: string) => call('edit_file', { file: 'a', before, after })
    const results = await Promise.all([edit('one', '1'), call('nonsense', {}), edit('two', '2'), edit('three', '3')])
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true, true])
    expect(files.text('a')).toBe('1 2 3')
  })

  it('are not made any more once the turn is off', async () => {
    const files = new MemoryFiles({ a: 'one' })
    const controller = new AbortController()
    const turn = agentTurn(fixTask([], []), files, { signal: controller.signal })
    const first = runTool(TOOLS, { id: '', name: 'list_files', input: {} }, turn)
    const second = runTool(TOOLS, { id: '', name: 'delete_file', input: { file: 'a' } }, turn)
    controller.abort()
    await expect(Promise.all([first, second])).rejects.toThrow('aborted')
    expect(files.text('a')).toBe('one')
  })
})
