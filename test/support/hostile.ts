/** Repositories that no git would write: objects made by hand, with any name, mode and order in a tree, and packs that lie. */
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { makeRepository, type TestRepository } from './git-repository.ts'

/** Large numbers behind `npm run test:long`, small ones in CI. */
export const scaled = (ci: number, long: number): number => (process.env['REVIEWLOOP_LONG'] ? long : ci)

type ObjectType = 'blob' | 'tree' | 'commit'
export interface Raw {
  type: ObjectType
  bytes: Buffer
  id: string
}

const rawObject = (type: ObjectType, bytes: Buffer): Raw => ({
  type,
  bytes,
  id: createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex'),
})

export const rawBlob = (text: string | Buffer): Raw => rawObject('blob', Buffer.from(text))

/** A name, the object, and its mode where it is not the usual one. */
export type RawEntry = readonly [name: string | Buffer, object: Raw, mode?: string]

/** A tree with the entries as they are given: not sorted, not checked. */
export const rawTree = (entries: readonly RawEntry[]): Raw =>
  rawObject(
    'tree',
    Buffer.concat(
      entries.map(([name, object, mode = object.type === 'tree' ? '40000' : '100644']) =>
        Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from([0]), Buffer.from(object.id, 'hex')]),
      ),
    ),
  )

export const rawCommit = (tree: Raw, ...parents: Raw[]): Raw => {
  const lines = [
    `tree ${tree.id}`,
    ...parents.map((parent) => `parent ${parent.id}`),
    'author A <a@b> 1 +0000',
    'committer A <a@b> 1 +0000',
  ]
  return rawObject('commit', Buffer.from(`${lines.join('\n')}\n\nhostile\n`))
}

/** A tree so many folders deep, with one object at its end; gives every tree of it. */
export const deepTree = (depth: number, name: string | Buffer, end: Raw): Raw[] => {
  const trees = [rawTree([['f', end]])]
  for (let level = 0; level < depth; level++) trees.push(rawTree([[name, trees.at(-1)!]]))
  return trees
}

/** A tree of ten times the tree before, so many times over: 10^levels places, a handful of objects. */
export const treeBomb = (levels: number, end: RawEntry[]): Raw[] => {
  const trees = [rawTree(end)]
  for (let level = 0; level < levels; level++) {
    const below = trees.at(-1)!
    trees.push(rawTree(Array.from({ length: 10 }, (_, index): RawEntry => [String(index), below])))
  }
  return trees
}

/** Writes objects into a repository as loose ones. */
const store = async (repository: Pick<TestRepository, 'path'>, objects: readonly Raw[]): Promise<void> => {
  for (const { type, bytes, id } of objects) {
    const file = join(repository.path, '.git', 'objects', id.slice(0, 2), id.slice(2))
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, deflateSync(Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]), { level: 1 }))
  }
}

/** A repository whose base and head have these trees; `more` are the objects that are in them. */
export const hostileRepository = async (
  trees: { base: Raw; head: Raw },
  more: readonly Raw[],
): Promise<{ repository: TestRepository; source: { base: string; head: string } }> => {
  const repository = await makeRepository()
  const base = rawCommit(trees.base)
  const head = rawCommit(trees.head, base)
  await store(repository, [trees.base, trees.head, base, head, ...more])
  await writeFile(join(repository.path, '.git/refs/heads/main'), `${base.id}\n`)
  await writeFile(join(repository.path, '.git/refs/heads/change'), `${head.id}\n`)
  return { repository, source: { base: base.id, head: head.id } }
}

const PACK_TYPES = { commit: 1, tree: 2, blob: 3 } as const
const REF_DELTA = 7

/** The header of an entry of a pack: type, and size of what it unfolds into. */
const packHeader = (type: number, size: number): Buffer => {
  const bytes: number[] = []
  let rest = Math.floor(size / 16)
  let byte = (type << 4) | (size % 16)
  while (rest > 0) {
    bytes.push(byte | 0x80)
    byte = rest % 128
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, byte])
}

export const packEntry = ({ type, bytes }: Raw): Buffer => Buffer.concat([packHeader(PACK_TYPES[type], bytes.length), deflateSync(bytes)])

const varint = (value: number): number[] => (value < 128 ? [value] : [(value % 128) | 0x80, ...varint(Math.floor(value / 128))])

/** A delta that copies the first 64 KB of its base so many times: a few bytes that unfold into gigabytes. */
export const deltaBomb = (base: Raw, copies: number): Buffer => {
  const delta = Buffer.concat([
    Buffer.from([...varint(base.bytes.length), ...varint(copies * 0x10000)]),
    // Copy from offset 0 (left out), size 0x010000: three bytes of size.
    Buffer.concat(Array.from({ length: copies }, () => Buffer.from([0x80 | 0x10 | 0x20 | 0x40, 0x00, 0x00, 0x01]))),
  ])
  return Buffer.concat([packHeader(REF_DELTA, delta.length), Buffer.from(base.id, 'hex'), deflateSync(delta)])
}

/** A pack around entries, with a count of its own and its checksum right. */
export const packOf = (entries: readonly Buffer[], count = entries.length): Buffer => {
  const head = Buffer.alloc(12)
  head.write('PACK')
  head.writeUInt32BE(2, 4)
  head.writeUInt32BE(count, 8)
  const body = Buffer.concat([head, ...entries])
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}
