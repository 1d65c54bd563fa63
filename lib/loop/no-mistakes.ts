/** Settings of a repository that has the file of the tool no-mistakes and none of ours: the keys that mean the same, and the others by name. */
import * as z from 'zod'
import { unknownPlaceholders } from './commit-message.ts'
import { NO_MISTAKES_FILE, policy, SETTINGS_FILE, type Settings } from './policy.ts'
import { oneLine } from './redact.ts'
import { parseYaml } from './settings.ts'

/** A pattern grows by being translated; the result has to fit the settings. */
const pattern = z.string().max(480)
const theirs = z.looseObject({
  session_reuse: z.boolean().nullish(),
  auto_fix: z.looseObject({ review: z.int().nullish() }).nullish(),
  ignore_patterns: z.array(pattern).max(500).nullish(),
  review: z
    .looseObject({
      path_instructions: z
        .array(z.looseObject({ path: pattern, instructions: z.string().min(1).max(8000) }))
        .max(100)
        .nullish(),
    })
    .nullish(),
  commit: z.looseObject({ fix_message: z.string().min(1).max(1024).nullish() }).nullish(),
})
type Theirs = z.infer<typeof theirs>

const MOST_ROUNDS = 10
const MOST_NAMED = 30
/** Keys that hold a key which is taken: what else they hold is named one by one. */
const TAKEN: Record<string, string | null> = {
  session_reuse: null,
  auto_fix: 'review',
  ignore_patterns: null,
  review: 'path_instructions',
  commit: 'fix_message',
}

const escape = (text: string): string => text.replace(/[\\{}()[\]!+@|"'^$~#*?]/g, '\\$&')

/** Their pieces of a glob: an escaped character, stars (two are one), a character, a class; anything else stands for itself. */
const PIECE = /\\([^])|(\*+)|(\?)|(\[\^?(?:\w-\w|[\w. ])+\])|([^])/gu

/**
 * Their pattern as a glob of ours; null where it can match no path. A pattern without a slash is matched with the file's name at any
 * depth; one that ends in `/**` is a folder, by its letters; any other is matched with the whole path, and no star crosses a slash.
 */
export const globOf = (theirPattern: string): string | null => {
  if (theirPattern === '' || theirPattern.startsWith('/') || (theirPattern.endsWith('/') && !theirPattern.endsWith('\\/'))) return null
  if (theirPattern.endsWith('/**')) return `${escape(theirPattern.slice(0, -3))}/**`
  const glob = theirPattern.replace(
    PIECE,
    (_all, escaped?: string, stars?: string, one?: string, group?: string, other?: string) =>
      (stars && '*') ?? one ?? group ?? escape(escaped ?? other ?? ''),
  )
  return theirPattern.includes('/') ? glob : `**/${glob}`
}

/** Their template of a subject, and below it what our message holds anyway; null where something in it is not ours to fill in. */
const messageOf = (template: string): string | null => {
  if (/\{[a-z_]+\}/.test(template) || template.includes('\n')) return null
  const subject = template.replace(/\{\{\s*\.Step\s*\}\}/g, 'review').replace(/\{\{\s*\.Summary\s*\}\}/g, '{summary}')
  if (/\{\{|\}\}/.test(subject) || unknownPlaceholders(subject).length > 0) return null
  const [, ...body] = policy.parse({}).commit_message.split('\n')
  return [subject, ...body].join('\n')
}

interface Understood {
  settings: Settings
  /** Their keys that were taken. */
  taken: string[]
  /** Their keys that were not, some with the reason. */
  left: string[]
}

const namesLeft = (given: Theirs): string[] =>
  Object.entries(given).flatMap(([key, value]) => {
    const inner = TAKEN[key]
    if (inner === undefined) return [key]
    if (inner === null || typeof value !== 'object' || value === null) return []
    return Object.keys(value).flatMap((name) => (name === inner ? [] : [`${key}.${name}`]))
  })

/** What a `.no-mistakes.yaml` says that means the same here. Errors: BadSettings, of YAML that cannot be read and of values of these keys. */
export const readNoMistakes = (text: string, file: string): Understood => {
  const given = parseYaml(text, file, theirs)
  const found: Understood = { settings: {}, taken: [], left: namesLeft(given) }
  const take = (key: string, settings: Settings): void => {
    Object.assign(found.settings, settings)
    found.taken.push(key)
  }
  if (typeof given.session_reuse === 'boolean') take('session_reuse', { session_reuse: given.session_reuse })
  const fixes = given.auto_fix?.review
  if (typeof fixes === 'number') {
    const rounds = Math.min(MOST_ROUNDS, Math.max(0, fixes))
    take(rounds === fixes ? 'auto_fix.review' : `auto_fix.review (as ${rounds})`, { rounds })
  }
  const neverMatches = (key: string, path: string): void =>
    void found.left.push(`${key} ${JSON.stringify(oneLine(path, 60))} (matches no path)`)
  if (given.ignore_patterns) {
    const globs = given.ignore_patterns.map((path) => ({ path, glob: globOf(path) }))
    take('ignore_patterns', { ignore: globs.flatMap(({ glob }) => glob ?? []) })
    for (const { path, glob } of globs) if (glob === null) neverMatches('ignore_patterns', path)
  }
  if (given.review?.path_instructions) {
    const blocks = given.review.path_instructions.map((block) => ({ ...block, glob: globOf(block.path) }))
    const usable = blocks.flatMap(({ glob, instructions }) => (glob === null ? [] : [{ path: glob, instructions }]))
    take('review.path_instructions', { path_instructions: usable })
    for (const { path, glob } of blocks) if (glob === null) neverMatches('review.path_instructions', path)
  }
  const template = given.commit?.fix_message
  if (typeof template === 'string') {
    const message = messageOf(template)
    if (message === null) found.left.push('commit.fix_message (only {{.Step}} and {{.Summary}} on one line are understood)')
    else take('commit.fix_message', { commit_message: message })
  }
  return found
}

const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, MOST_NAMED).map((name) => oneLine(name, 120))
  return names.length === 0
    ? 'none'
    : [...shown, ...(names.length > MOST_NAMED ? [`and ${names.length - MOST_NAMED} more`] : [])].join(', ')
}

/** Said to people: where the settings came from, and what became of each key. */
export const noMistakesNotice = (text: string): string => {
  const { taken, left } = readNoMistakes(text, NO_MISTAKES_FILE)
  return `The base branch has no ${SETTINGS_FILE}: the settings are from its ${NO_MISTAKES_FILE}, for the keys that mean the same here. Taken: ${listed(taken)}. Not taken: ${listed(left)}.`
}
