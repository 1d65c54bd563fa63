/** Takes secrets out of texts that people or logs get to see: findings, comments, reports, messages. */
import { LoopError } from './errors.ts'

/** Shapes of common credentials. Each is linear: no nested repetition, so that no text can make it slow. */
const SHAPES: readonly (readonly [kind: string, shape: RegExp, keep?: string])[] = [
  ['private-key', /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g],
  ['private-key', /\bAGE-SECRET-KEY-1[A-Z0-9]{20,255}/g],
  ['github-token', /\b(?:gh[opusr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})/g],
  ['gitlab-token', /\b(?:gl(?:pat|oas|dt|rt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_-]{16,255}|GR1348941[A-Za-z0-9_-]{16,255})/g],
  ['atlassian-token', /\bAT(?:BB|CTT|ATT)(?=[A-Za-z0-9_=-]{0,255}\d)[A-Za-z0-9_=-]{20,512}/g],
  ['aws-key-id', /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g],
  ['slack-token', /\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}/g],
  ['slack-webhook', /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9/_-]{10,255}/g],
  ['discord-webhook', /\bdiscord(?:app)?\.com\/api\/webhooks\/\d{1,30}\/[A-Za-z0-9_-]{20,255}/g],
  ['google-key', /\b(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,512}|GOCSPX-[A-Za-z0-9_-]{20,64})/g],
  ['api-key', /\b(?:sk|rk|pk|whsec)[-_](?:[a-z]{2,8}[-_])?[A-Za-z0-9_-]{20,255}/g],
  ['npm-token', /\bnpm_[A-Za-z0-9]{30,255}/g],
  ['pypi-token', /\bpypi-[A-Za-z0-9_-]{30,255}/g],
  ['sendgrid-key', /\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}/g],
  ['docker-token', /\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,255}/g],
  ['vault-token', /\bhv[sbr]\.[A-Za-z0-9_-]{20,255}/g],
  [
    'service-token',
    /\b(?:hf_|do[opr]_v1_|shp(?:at|ca|pa|ss)_|lin_api_|nr(?:ak|ii)-|PMAK-|dapi|figd_|sntrys_|dp\.pt\.|glsa_)(?=[A-Za-z0-9_-]{0,255}\d)[A-Za-z0-9_-]{24,255}/gi,
  ],
  ['telegram-token', /\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b/g],
  ['jwt', /\beyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{4,4096}\.[A-Za-z0-9_-]{0,1024}/g],
  ['authorization', /\b((?:bearer|basic)\s{1,4})(?=[A-Za-z0-9+/_.~=-]{0,512}[0-9+/_=])[A-Za-z0-9+/_.~=-]{12,4096}/gi, '$1'],
  ['authorization', /\b(authorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:token|apikey)[ \t]{1,4})[A-Za-z0-9+/_.~=-]{8,4096}/gi, '$1'],
  ['password', /\b([a-z][a-z0-9+.-]{1,20}:\/{1,2}[^\s/:@'"[]{0,255}:)(?!\[redacted)[^\s/@'"]{1,1024}(?=@)/gi, '$1'],
  ['user', /\b(https?:\/{1,2})(?!\[redacted)[^\s/:@'"]{1,1024}(?=@)/gi, '$1'],
  ['signature', /([?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=)[A-Za-z0-9%+/_.~=-]{16,4096}/gi, '$1'],
  ['account-key', /\b((?:Account|SharedAccess)Key=)[A-Za-z0-9+/=]{20,255}/g, '$1'],
  [
    'secret',
    /((?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?["']?[ \t]{0,4}(?::|=>?|:=)[ \t]{0,4}["'`])(?!\[redacted)[^\s"'`]{6,1024}(?=["'`])/gi,
    '$1',
  ],
  [
    'secret',
    /((?:secret[_-]?access[_-]?key|_token|_secret|_password|_passwd|x-api-key|api[_-]?key)[ \t]{0,4}[:=][ \t]{0,4})(?=[^\s"'`]{0,255}\d)[^\s"'`[\]()]{12,1024}/gi,
    '$1',
  ],
]

/** A shorter value is left alone: it would be taken out of words that have nothing to do with it. */
const SHORTEST_SECRET = 8
/** What the values of this process's secrets may look like in a text. Longest first, so that none is cut in two. */
let spellings: readonly string[] = []

/** A value inside a base64 text, whatever stands before it there: the characters that depend on nothing but the value. */
const inBase64 = (value: string): string[] =>
  [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.from(value)
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const inner = text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 8) / 6))
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })

/**
 * From now on `redact` takes these values out of every text of this process: in the clear, in base64, in a URL, in JSON. They are
 * the secrets that the process itself was given, whose shape nobody knows. Values under eight characters are left alone.
 */
export const keepSecrets = (values: readonly (string | null | undefined)[]): void => {
  const spellingsOf = (value: string): string[] => [
    value,
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    ...inBase64(value),
  ]
  const added = values.map((value) => value?.trim() ?? '').flatMap((value) => (value.length >= SHORTEST_SECRET ? spellingsOf(value) : []))
  spellings = [...new Set([...spellings, ...added])]
    .filter((text) => text.length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length)
}

const SECRET_NAME = /(?:token|secret|password|passwd|passphrase|api_?key|access_?key|private_?key|bearer_token_bedrock)$/i
/** A variable of ours that ends so names a secret in Secrets Manager, and holds none. */
const NAMES_SECRET = /^REVIEWLOOP_\w+_SECRET$/

/** Values of an environment that are secrets by the variable's name, and passwords in its addresses (a proxy's, say). */
export const secretsOf = (env: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(env).flatMap(([name, value = '']) => {
    if (SECRET_NAME.test(name) && !NAMES_SECRET.test(name)) return [value]
    if (!/^[a-z][a-z0-9+.-]*:\/\/[^/]*@/i.test(value) || !URL.canParse(value)) return []
    const { password } = new URL(value)
    return [password, unescaped(password)]
  })

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Replaces this process's own secrets, and what looks like a credential, by `[redacted:<kind>]`. Doing it twice changes nothing more. */
export const redact = (text: string): string => {
  const own = spellings.reduce((rest, spelling) => rest.replaceAll(spelling, '[redacted:own-secret]'), text)
  return SHAPES.reduce((rest, [kind, shape, keep = '']) => rest.replace(shape, `${keep}[redacted:${kind}]`), own)
}

/** `redact` on every string inside a value of plain data, and on the whole of one under a key such as `password`; the shape stays. */
export const redactAll = <T>(value: T): T => walk(value, '', 0) as T

const DEEPEST = 64
const SECRET_KEY = /(?:^|_|-)(?:token|secret|password|passwd|passphrase|api_?key|access_?key|private_?key|authorization|cookie)$/i

const walk = (value: unknown, name: string, depth: number): unknown => {
  if (typeof value === 'string') return value !== '' && SECRET_KEY.test(name) ? '[redacted:secret]' : redact(value)
  if (value === null || typeof value !== 'object') return value
  if (depth > DEEPEST) return '[too deep]'
  if (value instanceof Error) return { name: value.name, message: redact(value.message) }
  if (value instanceof Date) return value
  if (Array.isArray(value)) return value.map((inner) => walk(inner, name, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner, key, depth + 1)]))
}

/** The error as logs and other processes may have it: message, details and stack without secrets, and without its cause. */
export const redactError = ({ name, message, details, stack }: LoopError): LoopError => {
  const shown = new LoopError(name, redact(message), redactAll(details))
  shown.stack = redact(stack ?? '')
  return shown
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
