/** Takes secrets out of texts that people or logs get to see: findings, comments, reports, messages. */

/** Shapes of common credentials. Each is linear: no nested repetition, so that no text can make it slow. */
const SHAPES: readonly (readonly [kind: string, shape: RegExp, keep?: string])[] = [
  ['private-key', /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g],
  ['github-token', /\b(?:gh[opusr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})/g],
  ['gitlab-token', /\bgl(?:pat|oas|dt|rt|cbt|ptt|ft)-[A-Za-z0-9_-]{16,255}/g],
  ['aws-key-id', /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g],
  ['slack-token', /\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}/g],
  ['slack-webhook', /\bhooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/_-]{10,255}/g],
  ['google-key', /\bAIza[A-Za-z0-9_-]{35}/g],
  ['api-key', /\b(?:sk|rk|pk)[-_](?:[a-z]{2,8}[-_])?[A-Za-z0-9_-]{20,255}/g],
  ['npm-token', /\bnpm_[A-Za-z0-9]{30,255}/g],
  ['pypi-token', /\bpypi-[A-Za-z0-9_-]{30,255}/g],
  ['sendgrid-key', /\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}/g],
  ['jwt', /\beyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{4,4096}\.[A-Za-z0-9_-]{0,1024}/g],
  ['authorization', /\b((?:bearer|basic)\s{1,4})(?=[A-Za-z0-9+/_.~=-]{0,4096}[0-9+/_=])[A-Za-z0-9+/_.~=-]{12,4096}/gi, '$1'],
  ['password', /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@'"[]{0,255}:)(?!\[redacted)[^\s/@'"]{1,1024}(?=@)/gi, '$1'],
  ['user', /\b(https?:\/\/)(?!\[redacted)[^\s/:@'"]{1,1024}(?=@)/gi, '$1'],
  [
    'secret',
    /((?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?["']?[ \t]{0,4}(?::|=>?|:=)[ \t]{0,4}["'`])[^\s"'`]{6,1024}(?=["'`])/gi,
    '$1',
  ],
  [
    'secret',
    /((?:secret[_-]?access[_-]?key|_token|_secret|_password|api[_-]?key)[ \t]{0,4}[:=][ \t]{0,4})(?=[^\s"'`]{0,1024}\d)[^\s"'`[\]()]{12,1024}/gi,
    '$1',
  ],
]

/** Replaces what looks like a credential by `[redacted:<kind>]`. Doing it twice changes nothing more. */
export const redact = (text: string): string =>
  SHAPES.reduce((rest, [kind, shape, keep = '']) => rest.replace(shape, `${keep}[redacted:${kind}]`), text)

/** `redact` on every string inside a value of plain data; keys, numbers and the shape stay. */
export const redactAll = <T>(value: T): T => walk(value) as T

const walk = (value: unknown): unknown => {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(walk)
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]))
  return value
}

/** Takes out what could command a terminal or turn a line's reading order around; line feeds and tabs stay. */
export const printable = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(/[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu, '')

/** One line of at most `max` characters, for messages and lists. */
export const oneLine = (text: string, max = 200): string => {
  const line = printable(text).replace(/\s+/g, ' ').trim()
  const characters = Array.from(line)
  return characters.length > max
    ? `${characters
        .slice(0, max - 1)
        .join('')
        .trimEnd()}…`
    : line
}
