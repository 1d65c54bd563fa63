/** File trees in memory with the file tools over them, and the diff between two, for tests of agents. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { DiffFile, DiffLine } from '../../lib/loop/diff.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { EditFiles, ReadFiles } from '../../lib/loop/workspace.ts'

const bytesOf = (content: string | Uint8Array): Uint8Array => (typeof content === 'string' ? new TextEncoder().encode(content) : content)

/** As git does: at line feeds alone, with no line after the last. */
const splitLines = (text: string): string[] => text.replace(/\n$/u, '').split('\n')

export class MemoryFiles implements ReadFiles, EditFiles {
  readonly content: Map<string, Uint8Array>
  /** Paths written or removed, in order. */
  readonly touched: string[] = []

  constructor(files: Readonly<Record<string, string | Uint8Array>> | ReadonlyMap<string, Uint8Array> = {}) {
    this.content = files instanceof Map ? new Map(files) : new Map(Object.entries(files).map(([path, content]) => [path, bytesOf(content)]))
  }

  /** The files below a folder; those of later folders are laid over. */
  static from(...folders: string[]): MemoryFiles {
    const content = new Map<string, Uint8Array>()
    for (const folder of folders)
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
        if (entry.isFile()) {
          const path = join(entry.parentPath, entry.name)
          content.set(relative(folder, path).split(sep).join('/'), readFileSync(path))
        }
    return new MemoryFiles(content)
  }

  copy(): MemoryFiles {
    return new MemoryFiles(this.content)
  }

  text(path: string): string {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.content.get(path))
  }

  async list(): Promise<string[]> {
    return [...this.content.keys()].sort()
  }

  async read(path: string, maxBytes = 10_000_000): Promise<Uint8Array | null> {
    if (path.startsWith('/') || path.split('/').includes('..')) throw new LoopError('OutsideWorkspace')
    const bytes = this.content.get(path)
    if (bytes && bytes.byteLength > maxBytes) throw new LoopError('ChangeTooLarge', `${path} is too large`)
    return bytes ?? null
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    this.touched.push(path)
    this.content.set(path, bytes)
  }

  async edit(path: string, before: string, after: string): Promise<void> {
    const parts = this.text(path).split(before)
    if (parts.length !== 2) throw new LoopError('EditRefused', `the text stands ${parts.length - 1} times in ${path}`)
    await this.write(path, bytesOf(parts.join(after)))
  }

  async remove(path: string): Promise<void> {
    this.touched.push(path)
    this.content.delete(path)
  }
}

const lengths = (before: readonly string[], after: readonly string[]): number[][] => {
  const table = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0))
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      table[i]![j] = before[i] === after[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!)
  return table
}

/** Every line of both files, in one hunk. */
const diffLines = (before: readonly string[], after: readonly string[]): DiffLine[] => {
  const table = lengths(before, after)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j])
      lines.push({ kind: 'context', text: after[j]!, oldLine: ++i, newLine: ++j })
    else if (i < before.length && (j === after.length || table[i + 1]![j]! >= table[i]![j + 1]!))
      lines.push({ kind: 'removed', text: before[i]!, oldLine: ++i, newLine: null })
    else lines.push({ kind: 'added', text: after[j]!, oldLine: null, newLine: ++j })
  }
  return lines
}

/** The change of one file. Leave `before` out for one that is new, `after` for one that is deleted. */
export const fileDiff = (path: string, before: string | null, after: string | null, more: Partial<DiffFile> = {}): DiffFile => {
  const [old, now] = [before, after].map((text) => (text ? splitLines(text) : []))
  const lines = diffLines(old ?? [], now ?? [])
  return {
    path,
    oldPath: null,
    status: before === null ? 'added' : after === null ? 'deleted' : 'modified',
    oldMode: before === null ? null : '100644',
    newMode: after === null ? null : '100644',
    omitted: null,
    hunks: lines.length === 0 ? [] : [{ oldStart: 1, oldCount: old?.length ?? 0, newStart: 1, newCount: now?.length ?? 0, lines }],
    ...more,
  }
}

/** What differs between two trees of text. */
export const diffTrees = (before: MemoryFiles, after: MemoryFiles): DiffFile[] =>
  [...new Set([...before.content.keys(), ...after.content.keys()])].sort().flatMap((path) => {
    const [old, now] = [before, after].map((tree) => (tree.content.has(path) ? tree.text(path) : null))
    return old === now ? [] : [fileDiff(path, old ?? null, now ?? null)]
  })
