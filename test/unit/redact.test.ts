import { describe, expect, test } from 'vitest'
import { LoopError } from '../../lib/loop/errors.ts'
import { keepSecrets, oneLine, printable, redact, redactAll, redactError, secretsOf } from '../../lib/loop/redact.ts'
import { ENV } from '../../lib/names.ts'

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
  ['a token of a GitLab runner', 'GR{}', `1348941${x(20)}`],
  ['a token of Atlassian', 'AT{}', `ATT3x${x(40)}=1A`],
  ['an access token of Google', 'ya29{}', `.${x(60)}`],
  ['a client secret of Google', 'GOCSPX{}', `-${x(28)}`],
  ['a webhook of Discord', 'https://discord.com/api/{}', `webhooks/1234567/${x(40)}`],
  ['a token of PyPI', 'pypi{}', `-${x(60)}`],
  ['a key of SendGrid', 'SG{}', `.${x(22)}.${x(43)}`],
  ['a token of Docker', 'dckr{}', `_pat_${x(27)}`],
  ['a token of Vault', 'hvs{}', `.${x(40)}`],
  ['a token of Hugging Face', 'hf{}', `_${x(34)}`],
  ['a token of DigitalOcean', 'dop{}', `_v1_${x(64)}`],
  ['a token of Shopify', 'shpat{}', `_${x(32)}`],
  ['a token of Grafana', 'glsa{}', `_${x(32)}_${x(8)}`],
  ['a token of a Telegram bot', '123456789:{}', `AA${x(33)}`],
  ['a signing secret of Stripe', 'whsec{}', `_${x(32)}`],
  ['a key of age', 'AGE-SECRET-KEY-{}', `1${'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'.repeat(2).slice(0, 58)}`],
  ['a signed URL', 'https://x.blob.core.windows.net/y?sv=1&sig={}&se=2', `${x(40)}%3D`],
  ['a signed URL of AWS', 'https://x.s3.amazonaws.com/y?X-Amz-Signature={}', x(64)],
  ['a connection string', 'DefaultEndpointsProtocol=https;AccountKey={};EndpointSuffix=x', `${x(86)}==`],
  ['a header of GitHub', 'Authorization: token {}', x(40)],
  ['a header with a key', 'x-api-key: {}', x(32)],
  ['a password in an address that lost a slash', 'https:/ada:{}@example.com/x.git', 'hunter2secret'],
  ['a password of a database', 'postgres://app:{}@db:5432/x', 'p4ss%20word'],
  ['a password in YAML', "password: '{}'", 'hunter2secret'],
  ['a session token', 'AWS_SESSION_TOKEN={}', `${x(200)}/+=`],
  ['a PGP key', '-----BEGIN PGP PRIVATE KEY {} after', `BLOCK-----\n\n${x(60)}\n-----END PGP PRIVATE KEY BLOCK-----`],
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
    'ATCTTATTATTACGTACGTACGTACGTACGT',
    'const hf_some_long_function_name_of_ours = 1',
    'https://example.com/search?sig=short&q=1',
    'see https://example.com/a:b and mailto:ada@example.com',
    'C:/Users/ada and a ratio of 1:2',
    'sha256:0123456789abcdef and integrity sha512-abc',
  ])('leaves %j', (text) => {
    expect(redact(text)).toBe(text)
  })

  test('keeps what stands around', () => {
    expect(redact('https://ada:secret@example.com/x')).toBe('https://ada:[redacted:password]@example.com/x')
    expect(redact(`a ${TOKEN} b`)).toBe('a [redacted:github-token] b')
  })

  test('is not made slow by megabytes of the beginnings of secrets', () => {
    const pieces = [
      '-----BEGIN PRIVATE KEY-----',
      'https://a',
      'https:/',
      'eyJaaaaaaaa.',
      'bearer a',
      'password = "',
      'sk-a',
      '_token=',
      'a.b+c-',
    ]
    // A hang would be hours here: every shape that began again at each place would look at a megabyte a million times.
    for (const piece of [...pieces, 'hf_', 'AA', '1:', '&sig=', 'x-api-key: ', 'token=>', '":"', 'a://b:'])
      expect(redact(piece.repeat(Math.ceil(1_000_000 / piece.length))).length).toBeGreaterThan(0)
  })

  test('of data redacts its strings and nothing else', () => {
    expect(redactAll({ a: [TOKEN, 1, null, { b: `x ${TOKEN}` }], c: true })).toEqual({
      a: ['[redacted:github-token]', 1, null, { b: 'x [redacted:github-token]' }],
      c: true,
    })
  })
})

describe("a process's own secrets", () => {
  // Of no shape that is known.
  const own = 'correct horse/battery+staple?"4711"'
  keepSecrets([own, 'short', '', null, undefined])

  test('are taken out in the clear, in a URL, in JSON, and with other things in base64', () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    for (const text of [own, encodeURIComponent(own), JSON.stringify({ a: own }), own.repeat(3)]) {
      expect(redact(`before ${text} after`)).toMatch(/^before .*\[redacted:own-secret\].* after$/)
      expect(redact(text)).not.toMatch(/battery|staple/)
    }
    for (const before of ['', 'u:', 'x-access-token:', 'ab', 'abc'])
      for (const after of ['', '@', 'zz']) {
        const redacted = redact(base64(`${before}${own}${after}`))
        expect(redacted).toContain('[redacted:own-secret]')
        expect(Buffer.from(redacted.replace('[redacted:own-secret]', ''), 'base64').toString('latin1')).not.toMatch(/horse|battery/)
      }
  })

  test('that are short stay: they would be taken out of words', () => {
    expect(redact('a short text')).toBe('a short text')
  })

  test('are what an environment names so, and passwords in its addresses; names and paths are none', () => {
    const variables: string[] = Object.values(ENV)
    expect(variables).toContain('REVIEWLOOP_CODEX_KEY_SECRET')
    const env = {
      REVIEWLOOP_GIT_TOKEN: 'a-token',
      AWS_SECRET_ACCESS_KEY: 'a-key',
      AWS_SESSION_TOKEN: 'a-session',
      AWS_BEARER_TOKEN_BEDROCK: 'a-bearer',
      ANTHROPIC_API_KEY: 'an-api-key',
      npm_config__password: 'a-password',
      HTTPS_PROXY: 'http://ada:p%40ss@proxy:3128',
      ...Object.fromEntries(variables.filter((name) => name.endsWith('_SECRET')).map((name) => [name, 'name-of-the-secret'])),
      AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/token',
      SSH_AUTH_SOCK: '/tmp/agent',
      PATH: '/bin',
      HOME: '/home/ada',
      URL: 'https://example.com/a@b',
      EMPTY_TOKEN: undefined,
    }
    expect(secretsOf(env)).toEqual(['a-token', 'a-key', 'a-session', 'a-bearer', 'an-api-key', 'a-password', 'p%40ss', 'p@ss', ''])
  })
})

describe('data', () => {
  test('under a key that names a secret goes whole, whatever it looks like', () => {
    const data = {
      password: 'x',
      api_key: 'y',
      nested: [{ 'x-auth-token': 'z', tokens: 7, token: null, Authorization: ['a', 'b'] }],
      author: 'ada',
    }
    expect(redactAll(data)).toEqual({
      password: '[redacted:secret]',
      api_key: '[redacted:secret]',
      nested: [{ 'x-auth-token': '[redacted:secret]', tokens: 7, token: null, Authorization: ['[redacted:secret]', '[redacted:secret]'] }],
      author: 'ada',
    })
  })

  test('with errors, dates, circles and keys like __proto__ is no trouble', () => {
    const circle: Record<string, unknown> = { at: new Date(0), error: new Error(`x ${TOKEN}`) }
    circle['self'] = circle
    const redacted = redactAll(circle)
    expect(redacted).toMatchObject({ at: new Date(0), error: { name: 'Error', message: 'x [redacted:github-token]' } })
    expect(JSON.stringify(redacted)).toContain('too deep')
    expect(redactAll(JSON.parse(`{"__proto__": {"a": "${TOKEN}"}}`))).toEqual(JSON.parse('{"__proto__": {"a": "[redacted:github-token]"}}'))
  })
})

test('an error is shown without secrets in message, details and stack, and without its cause', () => {
  const error = new LoopError('FetchFailed', `no ${TOKEN}`, { url: `https://x:${TOKEN}@h/`, password: 'p' }, { cause: new Error(TOKEN) })
  const shown = redactError(error)
  expect(shown).toMatchObject({ name: 'FetchFailed', message: 'no [redacted:github-token]' })
  expect(JSON.stringify([shown.message, shown.details, shown.stack, String(shown.cause)])).not.toContain(TOKEN)
  expect(shown.stack).toContain('redact.test.ts')
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
