/** A working copy in memory, for tests of the loop: files are text by path, a commit id is a hash of what it holds. */
import { createHash } from 'node:crypto'
import type { DiffFile } from '../../lib/loop/diff.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { EditFiles, FetchedSource, FileChange, ReadFiles, Work, Workspace, Workspaces } from '../../lib/loop/workspace.ts'

type Files = Record<string, string>
type OpenOptions = Parameters<Workspaces['open']>[0]

const commitIdOf = (text: string): string => createHash('sha1').update(text).digest('hex')

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const apply = (files: Files, changes: readonly FileChange[]): Files => {
  const next = { ...files }
  for (const change of changes) {
    if (change.kind === 'delete') delete next[change.path]
    else next[change.path] = Buffer.from(change.content, 'base64').toString()
  }
  return next
}

const changesBetween = (before: Files, after: Files): FileChange[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].sort().flatMap((path): FileChange[] => {
    const text = after[path]
    if (text === before[path]) return []
    return text === undefined
      ? [{ kind: 'delete', path }]
      : [{ kind: 'write', path, mode: '100644', content: Buffer.from(text).toString('base64') }]
  })

/** Whole files: every line of the new one is an added line. */
const diffBetween = (before: Files, after: Files): DiffFile[] =>
  changesBetween(before, after).map((change) => {
    const lines =
      change.kind === 'delete' ? [] : (after[change.path] ?? '').split('\n').filter((line, at, all) => line !== '' || at < all.length - 1)
    return {
      path: change.path,
      oldPath: null,
      status: change.kind === 'delete' ? 'deleted' : before[change.path] === undefined ? 'added' : 'modified',
      oldMode: before[change.path] === undefined ? null : '100644',
      newMode: change.kind === 'delete' ? null : '100644',
      omitted: null,
      hunks: [
        {
          oldStart: 0,
          oldCount: 0,
          newStart: 1,
          newCount: lines.length,
          lines: lines.map((text, at) => ({ kind: 'added' as const, text, oldLine: null, newLine: at + 1 })),
        },
      ],
    }
  })

/** Line by line, for files that keep their number of lines. */
const linewise = (before: Files, after: Files): DiffFile[] =>
  diffBetween(before, after).map((file) => {
    const [old, now] = [before[file.path] ?? '', after[file.path] ?? ''].map((text) => text.replace(/\n$/, '').split('\n'))
    const lines = (now ?? []).flatMap((text, at): DiffFile['hunks'][number]['lines'] => {
      const line = at + 1
      if (old?.[at] === text) return [{ kind: 'context', text, oldLine: line, newLine: line }]
      return [
        { kind: 'removed', text: old?.[at] ?? '', oldLine: line, newLine: null },
        { kind: 'added', text, oldLine: null, newLine: line },
      ]
    })
    const count = now?.length ?? 0
    return { ...file, hunks: [{ oldStart: 1, oldCount: count, newStart: 1, newCount: count, lines }] }
  })

export class FakeWorkspace implements Workspace {
  readonly root = '/workspace'
  commit: string
  closed = false
  restored = 0
  now: Files
  readonly files: ReadFiles
  readonly edits: EditFiles | null
  readonly #base: Files
  #work: Work | null
  #standing: Files

  constructor(base: Files, standing: Files, commit: string, options: OpenOptions) {
    this.#base = base
    this.#standing = standing
    this.#work = options.work
    this.commit = commit
    this.now = apply(standing, options.work?.changes ?? [])
    this.files = {
      list: async () => Object.keys(this.now).sort(),
      read: async (path) => {
        const text = this.now[path]
        return text === undefined ? null : bytesOf(text)
      },
    }
    this.edits = options.editable ? this.#editor() : null
  }

  #editor(): EditFiles {
    return {
      write: async (path, bytes) => {
        this.now[path] = textOf(bytes)
      },
      edit: async (path, before, after) => {
        const parts = (this.now[path] ?? '').split(before)
        if (parts.length !== 2) throw new LoopError('EditRefused', `${path}: the text stands there ${parts.length - 1} times.`)
        this.now[path] = parts.join(after)
      },
      remove: async (path) => {
        delete this.now[path]
      },
    }
  }

  diff = async () => diffBetween(this.#base, this.#standing)
  changed = async () => changesBetween(this.#standing, this.now).map((change) => change.path)
  saveWork = async () => {
    const changes = changesBetween(this.#standing, this.now)
    return changes.length > 0 ? { commit: this.commit, changes } : null
  }
  commitAll = async (message: string, time: number) => {
    const changes = changesBetween(this.#standing, this.now)
    if (changes.length === 0) return null
    this.commit = commitIdOf(JSON.stringify([this.commit, message, time, changes]))
    this.#standing = { ...this.now }
    return { id: this.commit, message, time, changes }
  }
  patch = async () =>
    changesBetween(this.#base, this.#standing)
      .map((change) => `${change.kind} ${change.path}\n`)
      .join('')
  restore = async () => {
    this.restored++
    this.now = apply(this.#standing, this.#work?.changes ?? [])
  }
  restoreCommit = async () => {
    this.#work = null
    await this.restore()
  }
  close = async () => {
    this.closed = true
  }
}

/** `base` and `head` are the files on both sides of the change. Every copy that was opened is kept. */
export class FakeWorkspaces implements Workspaces {
  base: Files
  head: Files
  settings: string | null = null
  settingsFile?: '.no-mistakes.yaml'
  /** Commits below the head. */
  merged: string[] = []
  /** What the change's commits say. */
  messages: string[] = []
  readonly opened: FakeWorkspace[] = []

  constructor({ base = { 'a.js': 'one\n' }, head = { 'a.js': 'one\ntwo\n' } }: { base?: Files; head?: Files } = {}) {
    this.base = base
    this.head = head
  }

  fetch: Workspaces['fetch'] = async (source, limits): Promise<FetchedSource> => {
    const settings = { settings: this.settings, ...(this.settingsFile && { settingsFile: this.settingsFile }) }
    limits(settings)
    const files = changesBetween(this.base, this.head).length
    return {
      mergeBase: source.base,
      head: source.head,
      base: source.base,
      headTime: 1_700_000_000,
      history: [source.head, ...this.merged],
      messages: this.messages,
      pack: bytesOf('pack'),
      ...settings,
      headSettingsDiffer: false,
      files,
      empty: files === 0,
    }
  }

  compare: Workspaces['compare'] = async ({ changeset }) => {
    const standing = (changeset?.commits ?? []).reduce((files, commit) => apply(files, commit.changes), this.head)
    return { head: diffBetween(this.base, this.head), standing: diffBetween(this.base, standing), fixes: linewise(this.head, standing) }
  }

  open: Workspaces['open'] = async (options) => {
    const commits = options.changeset?.commits ?? []
    const standing = commits.reduce((files, commit) => apply(files, commit.changes), this.head)
    const workspace = new FakeWorkspace(this.base, standing, commits.at(-1)?.id ?? options.info.head, options)
    this.opened.push(workspace)
    return workspace
  }
}
