/** Commits that were made to harm whoever checks them out, walks them or shows them. */
import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { LoopError } from '../../lib/loop/errors.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { makeChange, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { deepTree, hostileRepository, type Raw, rawBlob, rawTree, type RawEntry, scaled, treeBomb } from '../support/hostile.ts'
import { fetchFrom, limitsOf, never, openFrom, withWorkspace } from '../support/workspaces.ts'

// A guard against hanging, and nothing else.
vi.setConfig({ testTimeout: 600_000 })

const opened: TestRepository[] = []
afterEach(async () => {
  for (const repository of opened.splice(0)) await repository.close()
})

const failure = (promise: Promise<unknown>): Promise<LoopError> =>
  promise.then(
    () => expect.fail('it was expected to fail'),
    (error: LoopError) => error,
  )
const file = rawBlob('x\n')
const plain = rawTree([['a.txt', file]])
const made = async (trees: { base?: Raw; head?: Raw }, more: readonly Raw[] = []) => {
  const all = await hostileRepository({ base: trees.base ?? plain, head: trees.head ?? plain }, [file, ...more])
  opened.push(all.repository)
  return all
}

describe('.git in a commit', () => {
  it.each(['.git', '.GiT', 'git~1', '.git. ', '.g\u200cit', '.git::$INDEX_ALLOCATION', '.git\\x'])(
    'spelled %j is refused before anything is checked out',
    async (name) => {
      const hooks = rawTree([['post-checkout', rawBlob('#!/bin/sh\ntouch /tmp/pwned\n'), '100755']])
      const head = rawTree([
        [name, hooks],
        ['a.txt', file],
      ])
      const { repository, source } = await made({ head }, [hooks, rawBlob('#!/bin/sh\ntouch /tmp/pwned\n')])
      expect(await failure(fetchFrom(repository.path, source))).toMatchObject({ name: 'OutsideWorkspace' })
    },
  )

  it.each(['..', 'a/../../b', '/etc/x'])('a name %j in a tree leads nowhere', async (name) => {
    const head = rawTree([
      [name, file],
      ['a.txt', file],
    ])
    const { repository, source } = await made({ head })
    expect(await failure(fetchFrom(repository.path, source))).toMatchObject({ name: 'OutsideWorkspace' })
  })

  it('in the base alone, which is only compared with, is told and harms nothing', async () => {
    const config = rawTree([['config', file]])
    const base = rawTree([
      ['.git', config],
      ['a.txt', file],
    ])
    const { repository, source } = await made({ base }, [config])
    await withWorkspace(repository, source, async (workspace) => {
      expect(await workspace.diff()).toMatchObject([{ path: '.git/config', status: 'deleted', omitted: 'its name lies in .git' }])
      expect(await workspace.files.list()).toEqual(['a.txt'])
    })
  })

  it('a file twice in one tree, and a file and a folder of one name, are one or an error of the catalogue', async () => {
    const other = rawBlob('other\n')
    const folder = rawTree([['b', other]])
    for (const entries of [
      [
        ['a', file],
        ['a', other],
      ],
      [
        ['a', file],
        ['a', folder],
      ],
      [
        ['b', file],
        ['a', file],
      ],
    ] as const satisfies RawEntry[][]) {
      const { repository, source } = await made({ head: rawTree(entries) }, [other, folder])
      const ended = await fetchFrom(repository.path, source).then(
        async (fetched) => {
          const workspace = await openFrom(fetched)
          const names = await workspace.files.list()
          await workspace.close()
          return names.join()
        },
        (error: LoopError) => error.name,
      )
      expect(['FetchFailed', 'GitFailed', 'OutsideWorkspace', 'a', 'a/b', 'a,b']).toContain(ended)
    }
  })
})

describe('links', () => {
  it('are plain files in the workspace, wherever they lead, also one that a file lies behind', async () => {
    const secret = await temporaryFolder()
    const link = rawBlob(secret)
    const head = rawTree([
      ['link', link, '120000'],
      ['proc', rawBlob('/proc/self/environ'), '120000'],
    ])
    const { repository, source } = await made({ head }, [link, rawBlob('/proc/self/environ')])
    await withWorkspace(repository, source, async (workspace) => {
      expect(await workspace.files.list()).toEqual(['link', 'proc'])
      expect(Buffer.from((await workspace.files.read('proc'))!).toString()).toBe('/proc/self/environ')
      await expect(workspace.edits!.write('link/x', Buffer.from('x'))).rejects.toMatchObject({ name: 'EditRefused' })
      await expect(workspace.edits!.write('link', Buffer.from('x'))).rejects.toMatchObject({ name: 'EditRefused' })
    })
    // A link first and a folder of the same name after it: what is below must not be written through the link.
    const below = rawTree([['x', file]])
    const both = await made(
      {
        head: rawTree([
          ['d', link, '120000'],
          ['d', below],
        ]),
      },
      [link, below],
    )
    const ended = await fetchFrom(both.repository.path, both.source)
      .then(openFrom)
      .then((workspace) => workspace.close())
      .catch((error: LoopError) => error.name)
    expect([undefined, 'FetchFailed', 'GitFailed', 'OutsideWorkspace']).toContain(ended)
    expect(await readdir(secret)).toEqual([])
    await rm(secret, { recursive: true })
  })
})

describe('names', () => {
  it('with line ends, control characters, quotes and shell characters are files like others', async () => {
    const names = [
      'new\nline',
      'tab\there',
      'esc\u001b[31m',
      'quote"\'',
      '$(touch pwned)',
      '`touch pwned`',
      ';touch pwned',
      '-rf',
      '--help',
      ' ',
      '*',
      'ü',
    ]
    const after = Object.fromEntries(names.map((name) => [name, `${name}\n`]))
    const { repository, base, head } = await makeChange({ keep: 'k\n' }, after)
    opened.push(repository)
    await withWorkspace(repository, { base, head }, async (workspace) => {
      expect((await workspace.diff()).map(({ path }) => path).toSorted()).toEqual(names.toSorted())
      expect(await workspace.files.list()).toEqual([...names, 'keep'].toSorted())
      for (const name of names) await workspace.edits!.write(name, Buffer.from('mended\n'))
      const commit = await workspace.commitAll('fix', 1_700_000_000)
      expect(commit?.changes).toHaveLength(names.length)
      expect(await workspace.changed()).toEqual([])
    })
  })

  it('that are no UTF-8, or hold a backslash, are told with the reason and keep nobody from the rest', async () => {
    const head = rawTree([
      ['a.txt', file],
      [Buffer.from([0x61, 0xff, 0x62]), file],
      ['b\\c', file],
      ['z.txt', file],
    ])
    const { repository, source } = await made({ head })
    await withWorkspace(repository, source, async (workspace) => {
      const diff = await workspace.diff()
      expect(diff.map(({ omitted }) => omitted)).toEqual(['its name is not UTF-8', 'its name holds a backslash', null])
      expect(await workspace.files.list()).toEqual(['a.txt', 'z.txt'])
      await workspace.edits!.write('z.txt', Buffer.from('mended\n'))
      expect(await workspace.commitAll('fix', 1_700_000_000)).toMatchObject({ changes: [{ path: 'z.txt' }] })
    })
  })
})

describe('more than there is room for', () => {
  it.each([
    ['a name of 300 bytes', () => ({ head: rawTree([['n'.repeat(300), file]]), more: [] })],
    ['a path of 5,000 bytes', () => asHead(deepTree(25, 'd'.repeat(200), file))],
    ['thousands of folders in one another', () => asHead(deepTree(scaled(1500, 100_000), 'dir', file))],
    ['ten to the tenth files out of eleven trees', () => asHead(treeBomb(10, [['f', file]]))],
    ['ten to the tenth folders without a file', () => asHead(treeBomb(10, []))],
    ['a file of 200 MB in 200 KB', () => ({ head: rawTree([['zeros', zeros]]), more: [zeros] })],
  ])('%s: ChangeTooLarge', async (_what, make) => {
    const { head, more } = make()
    const { repository, source } = await made({ head }, more)
    expect(await failure(fetchFrom(repository.path, source, { bytes: 100_000_000 }))).toMatchObject({ name: 'ChangeTooLarge' })
  })

  it('a base that unfolds without end, of which the head has nothing left', async () => {
    const { head: base, more } = asHead(treeBomb(10, [['f', file]]))
    const { repository, source } = await made({ base }, more)
    expect(await failure(fetchFrom(repository.path, source, { bytes: 100_000_000 }))).toMatchObject({ name: 'ChangeTooLarge' })
  })

  it('leaves nothing on the disk', async () => {
    const { head, more } = asHead(treeBomb(10, [['f', file]]))
    const { repository, source } = await made({ head }, more)
    const folder = await temporaryFolder()
    const fetching = gitWorkspaces({ token: async () => null, folder }).fetch(
      { repository: repository.path, branch: null, ...source },
      () => limitsOf({ bytes: 1_000_000 }),
      never(),
    )
    expect(await failure(fetching)).toMatchObject({ name: 'ChangeTooLarge' })
    expect(await readdir(folder)).toEqual([])
    await rm(folder, { recursive: true })
  })

  it('many small files are taken, in memory that does not grow with each of them', async () => {
    const count = scaled(2000, 100_000)
    const empty = rawTree([])
    const folders = Array.from({ length: Math.ceil(count / 1000) }, (_, folder): [string, Raw] => [
      `d${folder}`,
      rawTree(
        Array.from({ length: 1000 }, (_entry, index): RawEntry => [`f${index}`, file]).toSorted(([a], [b]) =>
          String(a) < String(b) ? -1 : 1,
        ),
      ),
    ])
    const { repository, source } = await made({ base: empty, head: rawTree(folders.toSorted(([a], [b]) => (a < b ? -1 : 1))) }, [
      empty,
      ...folders.map(([, tree]) => tree),
    ])
    expect(await failure(fetchFrom(repository.path, source, { files: 100 }))).toMatchObject({ name: 'ChangeTooLarge' })
    const before = process.memoryUsage().rss
    const fetched = await fetchFrom(repository.path, source, { files: count + 10 })
    const workspace = await openFrom(fetched)
    expect(await workspace.files.list()).toHaveLength(count)
    expect(await workspace.diff()).toHaveLength(count)
    await workspace.edits!.write('d0/f0', Buffer.from('mended\n'))
    expect(await workspace.changed()).toEqual(['d0/f0'])
    await workspace.close()
    expect(process.memoryUsage().rss - before).toBeLessThan(500_000_000)
  })

  it('files of megabytes without a line end, or of line ends alone, are told and not shown', async () => {
    const after = { 'ends.txt': '\n'.repeat(2_000_000), 'random.bin': randomBytes(3_000_000), 'wide.txt': 'x'.repeat(9_000_000) }
    const { repository, base, head } = await makeChange({ 'a.txt': 'a\n' }, { ...after, 'a.txt': 'b\n' })
    opened.push(repository)
    await withWorkspace(
      repository,
      { base, head },
      async (workspace) => {
        const diff = await workspace.diff()
        expect(diff.map(({ path, omitted }) => [path, omitted === null])).toEqual([
          ['a.txt', true],
          ['ends.txt', false],
          ['random.bin', false],
          ['wide.txt', false],
        ])
        expect(diff.reduce((sum, { hunks }) => sum + hunks.length, 0)).toBe(1)
      },
      { limits: { diff_bytes: 8_000_000 } },
    )
  })
})

const zeros = rawBlob(Buffer.alloc(200_000_000))
function asHead(trees: Raw[]): { head: Raw; more: Raw[] } {
  return { head: trees.at(-1)!, more: trees }
}
