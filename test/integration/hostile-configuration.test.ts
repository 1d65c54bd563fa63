/** Repositories whose settings, attributes and names would have git, a shell or a tool run something. Nothing of it ever runs. */
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readLocalRepository } from '../../lib/workspace/local-repository.ts'
import { makeChange, makeRepository, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { lintRun } from '../support/lint-run.ts'
import { fetchFrom, withWorkspace } from '../support/workspaces.ts'

let folder = ''
let canaries = ''
let bird = ''
const opened: TestRepository[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
  canaries = join(folder, 'canaries')
  await mkdir(canaries)
  // Whatever runs this leaves a file behind.
  bird = join(folder, 'bird')
  await writeFile(bird, `#!/bin/sh\ntouch "${canaries}/ran-$$-$(basename "$0")"\ncat 2>/dev/null\n`)
  await chmod(bird, 0o755)
})
afterEach(async () => {
  const ran = await readdir(canaries)
  for (const repository of opened.splice(0)) await repository.close()
  await rm(folder, { recursive: true })
  expect(ran).toEqual([])
})
const kept = <T extends { repository: TestRepository }>(made: T): T => {
  opened.push(made.repository)
  return made
}

/** Every setting of git that names a program, in the repository's own configuration. */
const arm = async (repository: TestRepository): Promise<void> => {
  const settings: Record<string, string> = {
    'core.fsmonitor': bird,
    'core.hooksPath': join(folder, 'hooks'),
    'core.sshCommand': bird,
    'core.askPass': bird,
    'core.editor': bird,
    'core.pager': bird,
    'core.gitProxy': bird,
    'core.alternateRefsCommand': bird,
    'credential.helper': `!${bird}`,
    'diff.external': bird,
    'diff.evil.command': bird,
    'diff.evil.textconv': bird,
    'filter.evil.clean': bird,
    'filter.evil.smudge': bird,
    'filter.evil.process': bird,
    'filter.evil.required': 'true',
    'filter.lfs.clean': bird,
    'filter.lfs.smudge': bird,
    'filter.lfs.process': bird,
    'merge.evil.driver': bird,
    'gpg.program': bird,
    'commit.gpgSign': 'true',
    'sequence.editor': bird,
    'uploadpack.packObjectsHook': bird,
    'alias.rev-parse': `!${bird}`,
    'alias.status': `!${bird}`,
    'protocol.ext.allow': 'always',
    'remote.origin.url': `ext::${bird}`,
    'remote.origin.uploadpack': bird,
    'include.path': join(folder, 'more.config'),
    'submodule.recurse': 'true',
    'fetch.recurseSubmodules': 'true',
    'core.attributesFile': join(folder, 'attributes'),
  }
  for (const [name, value] of Object.entries(settings)) await repository.git('config', name, value)
  await writeFile(join(folder, 'more.config'), `[core]\n\tfsmonitor = ${bird}\n[filter "more"]\n\tsmudge = ${bird}\n`)
  await writeFile(join(folder, 'attributes'), '* filter=evil diff=evil\n')
  for (const hooks of [join(folder, 'hooks'), join(repository.path, '.git', 'hooks')]) {
    await mkdir(hooks, { recursive: true })
    for (const hook of ['pre-commit', 'post-checkout', 'post-index-change', 'reference-transaction', 'pre-push', 'update', 'pre-receive'])
      await writeFile(join(hooks, hook), `#!/bin/sh\n${bird}\n`, { mode: 0o755 })
  }
}

const ATTRIBUTES =
  '* filter=evil diff=evil merge=evil ident export-subst\n*.txt working-tree-encoding=UTF-16\n*.psd filter=lfs diff=lfs merge=lfs -text\n'

describe('a repository that is armed to the teeth', () => {
  it('is fetched, checked out, diffed, edited and committed with nothing of it run', async () => {
    const { repository, base } = kept(await makeChange({ 'a.txt': 'a $Id$\n' }, { 'a.txt': 'A $Id$\r\n', 'b.psd': 'b\n' }))
    // By itself: git would encode the other files on their way in.
    await repository.write('.gitattributes', ATTRIBUTES)
    await repository.git('add', '.gitattributes')
    await repository.git('commit', '--quiet', '-m', 'attributes')
    const head = await repository.id()
    await arm(repository)
    await withWorkspace(repository, { base, head }, async (workspace) => {
      expect((await workspace.diff()).map(({ path, omitted }) => [path, omitted])).toEqual([
        ['.gitattributes', null],
        ['a.txt', null],
        ['b.psd', null],
      ])
      expect(Buffer.from((await workspace.files.read('a.txt'))!).toString()).toBe('A $Id$\r\n')
      await expect(workspace.edits!.write('a.txt', Buffer.from('x'))).rejects.toMatchObject({ name: 'EditRefused' })
    })
  })

  it('is looked at from inside with nothing of it run', async () => {
    const { repository } = kept(await makeChange({ 'a.txt': 'a\n' }, { 'a.txt': 'b\n' }))
    await arm(repository)
    await repository.write('.gitattributes', ATTRIBUTES)
    await repository.write('a.txt', 'not committed\n')
    expect(await readLocalRepository(repository.path, { base: 'main' })).toMatchObject({ uncommitted: ['.gitattributes', 'a.txt'] })
  })

  it('goes through a whole run, whose fixes are published into it, with nothing of it run', async () => {
    const before = { 'a.js': 'export const a = 1\n', '.gitattributes': '*.txt filter=evil\n' }
    const { repository, base, head } = kept(await makeChange(before, { 'a.js': 'export const a = 1\nvar b = a\nexport { b }\n' }))
    await arm(repository)
    const { state, fixes } = await lintRun(repository, { base, head }, { overrides: { ask: 'never' } })
    expect(state.verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
    expect(await repository.git('cat-file', 'blob', `${fixes}:a.js`)).not.toContain('var b')
  })

  it('a file under a filter is reported on and not edited', async () => {
    const { repository, base, head } = kept(
      await makeChange({ '.gitattributes': '*.js filter=lfs\n', 'a.js': 'export const a = 1\n' }, { 'a.js': 'var a = 1\nexport { a }\n' }),
    )
    await arm(repository)
    const { state, steps, record, fixes } = await lintRun(repository, { base, head }, { overrides: { ask: 'never' } })
    expect(steps).toContain('Fix')
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested' })
    expect(fixes).toBeNull()
    expect(JSON.stringify(record.findings[0]?.history)).toMatch(/not-fixed.*(filter|edited)/)
  })
})

describe('case 18: submodules', () => {
  it.each([
    ['https://example.com/x.git', 'sub'],
    ['file:///etc', 'sub'],
    ['ext::sh -c touch% /tmp/pwned', 'sub'],
    ['--upload-pack=touch /tmp/pwned', 'sub'],
    ['../..', '../../outside'],
    ['/', '.git/modules/x'],
  ])('case 18: a .gitmodules that points to %j is not followed, and its path %j is nothing', async (url, path) => {
    const modules = `[submodule "x"]\n\tpath = ${path}\n\turl = ${url}\n\tupdate = !${bird}\n`
    const { repository, base } = kept(await makeChange({ 'a.txt': 'a\n' }, {}))
    await repository.write('.gitmodules', modules)
    await repository.git('add', '.gitmodules')
    await repository.git('update-index', '--add', '--cacheinfo', `160000,${base},sub`)
    await repository.git('commit', '--quiet', '-m', 'module')
    await withWorkspace(repository, { base, head: await repository.id() }, async (workspace) => {
      expect((await workspace.diff()).map(({ path: name, omitted }) => [name, omitted])).toEqual([
        ['.gitmodules', null],
        ['sub', 'submodule'],
      ])
      expect(await workspace.files.list()).toEqual(['.gitmodules', 'a.txt'])
      await workspace.edits!.write('a.txt', Buffer.from('mended\n'))
      expect(await workspace.commitAll('fix', 1_700_000_000)).toMatchObject({ changes: [{ path: 'a.txt' }] })
    })
  })
})

describe('case 19: names of branches', () => {
  const names = [
    '-x',
    '--upload-pack=touch',
    '--exec=sh',
    'a@b',
    'a#b',
    'a+b',
    'a,b',
    'a;b',
    'a$(id)',
    'a`id`',
    "a'b",
    'a"b',
    'a&b',
    'a|b',
    'ü',
  ]

  it('case 19: legal ones go through fetch and publication as data, a leading dash and shell characters included', async () => {
    const { repository } = kept({ repository: await makeRepository() })
    const base = await repository.commit('base', { 'a.js': 'export const a = 1\n' })
    const head = await repository.commit('head', { 'a.js': 'var a = 1\nexport { a }\n' })
    for (const name of names) await repository.git('update-ref', `refs/heads/${name}`, head)
    for (const branch of names) expect(await fetchFrom(repository.path, { branch, base, head })).toMatchObject({ head, files: 1 })
    const { state } = await lintRun(
      repository,
      { base, head, branch: '--upload-pack=touch' },
      { publishTo: '-fixes;$(id)', overrides: { ask: 'never' } },
    )
    expect(state.verdict).toMatchObject({ outcome: 'approved' })
    expect(await repository.id('refs/heads/-fixes;$(id)')).toBe(state.commit)
  })

  it('case 19: a branch that is checked out under a name like an option has its facts read', async () => {
    const { repository, base } = kept(await makeChange({ 'a.txt': 'a\n' }, { 'a.txt': 'b\n' }))
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/--git-dir=x')
    const head = await repository.id('change')
    await repository.git('update-ref', 'refs/heads/--git-dir=x', head)
    expect(await readLocalRepository(repository.path)).toMatchObject({ branch: '--git-dir=x', head, base: { commit: base, name: 'main' } })
    for (const revision of ['--all', '--git-dir=/', '-x', '--output=x'])
      await expect(readLocalRepository(repository.path, { head: revision })).rejects.toMatchObject({ name: 'NoCommit' })
  })
})
