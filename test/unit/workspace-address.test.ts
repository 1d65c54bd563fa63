import { describe, expect, it } from 'vitest'
import { authorization, branchRef, environmentToken, parseAddress, redact, tokenFor } from '../../lib/workspace/address.ts'
import { gitEnvironment } from '../../lib/workspace/git-environment.ts'

const refused = expect.objectContaining({ name: 'BadRequest' })

describe('addresses', () => {
  it('are absolute paths, https URLs, and plain http URLs of this machine', () => {
    expect(parseAddress('/srv/project')).toEqual({ kind: 'path', path: '/srv/project' })
    expect(parseAddress('https://example.com/o/r.git')).toMatchObject({ kind: 'url', url: { host: 'example.com' } })
    for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '[::1]'])
      expect(parseAddress(`http://${host}:8080/r`)).toMatchObject({ kind: 'url' })
  })

  it.each([
    'ssh://git@example.com/r',
    'git@example.com:o/r.git',
    'ext::sh -c touch% x',
    'file:///srv/project',
    'git://example.com/r',
    'ftp://example.com/r',
    'http://example.com/r',
    'http://127.0.0.1.example.com/r',
    'http://localhost.example.com/r',
    'project',
    '../project',
    '-oProxyCommand=x',
    '--upload-pack=x',
    'https://',
    'https://example.com/r\n',
    '/srv/\0',
    'https://user:secret@example.com/r',
    'https://secret@example.com/r',
    'https://example.com/r?token=secret',
    'https://example.com/r#secret',
  ])('refuses %j', (repository) => {
    expect(() => parseAddress(repository)).toThrow(refused)
    expect(() => parseAddress(repository)).not.toThrow(/secret/)
  })

  it('are shown without credentials', () => {
    const shown = redact(`fatal: 'https://u:s3cret@example.com/x' s3cret2 ${authorization('s3cret2')} ssh://me@h/x`, ['s3cret2', ''])
    expect(shown).toBe("fatal: 'https://***@example.com/x' *** Basic *** ssh://***@h/x")
  })
})

describe('the token', () => {
  it('goes over https alone', async () => {
    const never = (): Promise<string> => Promise.reject(new Error('asked'))
    expect(await tokenFor(new URL('http://localhost/r'), never)).toBeNull()
    expect(await tokenFor(new URL('https://h/r'), async () => ' t0ken\n')).toBe('t0ken')
    expect(await tokenFor(new URL('https://h/r'), async () => ' ')).toBeNull()
    await expect(tokenFor(new URL('https://h/r'), async () => 'a\nx: y')).rejects.toThrow(refused)
  })
})

describe('case 19: branch names', () => {
  it.each(
    ['main', 'a/b', 'fix@2', 'x#1,y;z+w', '$(touch x)', '`id`', "a'b", '-x', '--upload-pack=x', 'é', '@', 'a|b&c', 'refs/heads/x'].map(
      (name) => name.replace(' ', '_'),
    ),
  )('takes %j as data', (name) => expect(branchRef(name)).toBe(`refs/heads/${name}`))

  it.each([
    '',
    ' ',
    'a b',
    'a..b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    'a@{1}',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.lock',
    'a.lock/b',
    'a.',
    'a\nb',
    'a\0b',
    'a\x7f',
  ])('refuses %j', (name) => expect(() => branchRef(name)).toThrow(refused))
})

describe('the environment of git', () => {
  it('passes on nothing of this process but what is listed', async () => {
    process.env['REVIEWLOOP_GIT_TOKEN'] = 's3cret'
    process.env['GIT_SSH_COMMAND'] = 'touch x'
    try {
      expect(await environmentToken()).toBe('s3cret')
      const environment = gitEnvironment()
      expect(Object.keys(environment)).not.toContain('GIT_SSH_COMMAND')
      expect(JSON.stringify(environment)).not.toContain('s3cret')
      expect(environment).toMatchObject({ GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' })
    } finally {
      delete process.env['REVIEWLOOP_GIT_TOKEN']
      delete process.env['GIT_SSH_COMMAND']
    }
  })
})
