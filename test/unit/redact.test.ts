import { describe, expect, test } from 'vitest'
import { oneLine, printable, redact, redactAll } from '../../lib/loop/redact.ts'

const x = (length: number): string => 'aB3x'.repeat(length).slice(0, length)

/** Built of parts, so that no scanner takes this file for a leak. */
const SECRETS: [kind: string, text: string, secret: string][] = [
  ['a personal token of GitHub', 'use gh{}', `p_${x(36)}`],
  ['a token of a GitHub app', 'gh{}', `s_${x(36)}`],
  ['a fine-grained token of GitHub', 'github_{}', `pat_${x(40)}`],
  ['a token of GitLab', 'gl{}', `pat-${x(20)}`],
  ['a key id of AWS', 'id AKIA{} end', 'ABCDEFGHIJKLMNOP'],
  ['a secret key of AWS', 'aws_secret_access_key = {}', x(40)],
  ['a token of Slack', 'xox{}', `b-1234567890-${x(24)}`],
  ['a webhook of Slack', 'https://hooks.slack.com/{}', `services/T000/B000/${x(24)}`],
  ['a key of Google', 'AI{}', `za${x(35)}`],
  ['a key of a model provider', 'sk-{}', `ant-${x(40)}`],
  ['a live key', 'sk_{}', `live_${x(24)}`],
  ['a token of npm', 'npm_{}', x(36)],
  ['a web token', 'ey{}', `J${x(20)}.eyJ${x(30)}.${x(43)}`],
  ['a bearer', 'Authorization: Bearer {}', x(24)],
  ['basic credentials', 'authorization: basic {}', `${x(23)}=`],
  ['a password in a URL', 'git clone https://ada:{}@example.com/x.git', 'hunter2'],
  ['a token as user of a URL', 'https://{}@example.com/x.git', x(20)],
  ['a password in code', 'const password = "{}"', 'hunter2secret'],
  ['a key in JSON', '{"apiKey": "{}"}', 'abcdef123456'],
  ['an environment variable', 'MY_API_TOKEN={}', 'abc123def456ghi'],
  ['a private key', '-----BEGIN RSA PRIVATE {} after', `KEY-----\nMIIE\n${x(60)}\n-----END RSA PRIVATE KEY-----`],
  ['a private key that is cut off', '-----BEGIN PRIVATE {}', `KEY-----\n${x(60)}`],
]

const TOKEN = ['gh', 'p_', x(36)].join('')

describe('redact', () => {
  test.each(SECRETS)('takes out %s', (_kind, text, secret) => {
    const redacted = redact(text.replace('{}', secret))
    expect(redacted).not.toContain(secret)
    expect(redacted).toMatch(/\[redacted:[a-z-]+\]/)
    expect(redact(redacted)).toBe(redacted)
  })

  test.each([
    'commit 0123456789abcdef0123456789abcdef01234567',
    'https://example.com/team/project?x=1#y',
    'Unexpected token } in JSON at position 3',
    'The basic idea: bearer tokens are credentials, and passwords are not.',
    'src/tokens/password.ts:12 token: string',
    'f-0123456789 and r-0123456789abcdef',
    'task-manager-configuration-of-the-build',
    'ada@example.com',
    "a password: 'x' is too short to be one",
  ])('leaves %j', (text) => {
    expect(redact(text)).toBe(text)
  })

  test('keeps what stands around', () => {
    expect(redact('https://ada:secret@example.com/x')).toBe('https://ada:[redacted:password]@example.com/x')
    expect(redact(`a ${TOKEN} b`)).toBe('a [redacted:github-token] b')
  })

  test('is not made slow by a long text', () => {
    for (const piece of ['-----BEGIN PRIVATE KEY-----', 'https://a', 'eyJaaaaaaaa.', 'bearer a', 'password = "', 'sk-a'])
      expect(redact(piece.repeat(20_000)).length).toBeGreaterThan(0)
  })

  test('of data redacts its strings and nothing else', () => {
    expect(redactAll({ a: [TOKEN, 1, null, { b: `x ${TOKEN}` }], c: true })).toEqual({
      a: ['[redacted:github-token]', 1, null, { b: 'x [redacted:github-token]' }],
      c: true,
    })
  })
})

test('printable takes out what commands a terminal or turns the order of reading', () => {
  expect(printable('a\u001b[31mb\u0007\u009bc\r\nd\te\u202ef\u2066g\u2028h\0')).toBe('a[31mbc\nd\tefgh')
  expect(printable('naïve 日本 👩‍💻')).toBe('naïve 日本 👩‍💻')
})

test('oneLine is one line of so many characters', () => {
  expect(oneLine(' a\n\n b\tc ')).toBe('a b c')
  expect(oneLine('x'.repeat(300), 10)).toBe('xxxxxxxxx…')
  expect(Array.from(oneLine('👩'.repeat(300), 10))).toHaveLength(10)
})
