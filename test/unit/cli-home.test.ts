import { existsSync } from 'node:fs'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { openCliHome } from '../../lib/agents/cli-home.ts'

const AROUND = {
  PATH: '/usr/bin:/bin',
  HOME: '/home/somebody',
  AWS_SECRET_ACCESS_KEY: 'secret',
  REVIEWLOOP_GIT_TOKEN: 'token',
  PROVIDER_KEY: 'key',
  EMPTY: '',
}

it('a tool sees an empty home and what was named for it, and nothing else of what is around', async () => {
  await using home = await openCliHome({
    source: AROUND,
    pass: ['PROVIDER_KEY', 'EMPTY', 'UNSET'],
    set: (folder) => ({ CONFIG_DIR: join(folder, 'mine') }),
  })
  const { PATH, HOME, PROVIDER_KEY, CONFIG_DIR, ...places } = home.environment
  expect({ PATH, HOME, PROVIDER_KEY, CONFIG_DIR }).toEqual({
    PATH: '/usr/bin:/bin',
    HOME: home.folder,
    PROVIDER_KEY: 'key',
    CONFIG_DIR: join(home.folder, 'mine'),
  })
  expect(Object.keys(places).toSorted()).toEqual(['TMPDIR', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME'])
  for (const place of Object.values(places)) expect(await readdir(place)).toEqual([])
  expect((await stat(home.folder)).mode & 0o777).toBe(0o700)
})

it('two turns have two homes, where a killed one is cleared by the next invocation, and each is gone with its turn', async () => {
  const one = await openCliHome()
  const other = await openCliHome()
  expect(one.folder).not.toBe(other.folder)
  expect(dirname(one.folder)).toBe(tmpdir())
  expect(one.folder.slice(tmpdir().length + 1)).toMatch(/^reviewloop-/)
  await writeFile(join(one.folder, 'left'), 'x')
  await one[Symbol.asyncDispose]()
  expect([existsSync(one.folder), existsSync(other.folder)]).toEqual([false, true])
  await other[Symbol.asyncDispose]()
})
