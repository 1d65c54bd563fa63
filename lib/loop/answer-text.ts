/**
 * An answer that came as text, where an agent has no other way to give it: the whole text as JSON, else the one fence in it, else the
 * last object that stands by itself. What was cut off is no answer: no bracket is ever added, and no part is taken for the whole.
 */

type Answer = Record<string, unknown>

/** The answer that a text holds; null where it holds none. What it says is for the loop's schema to judge. */
export const answerIn = (text: string): Answer | null => {
  const whole = objectOf(text)
  if (whole) return whole
  const bare = bareObjects(text)
  if (bare === 'cut off') return null
  const fences = fencesIn(text)
  return (fences.length === 1 ? objectOf(fences[0] ?? '') : null) ?? bare.at(-1) ?? null
}

const objectOf = (text: string): Answer | null => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : null
  } catch {
    return null
  }
}

/** What stands in fences that were closed. A fence is a line of its own, which no string of a JSON text can hold. */
const fencesIn = (text: string): string[] => {
  const found: string[] = []
  let open: { mark: string; lines: string[] } | null = null
  for (const line of text.split(/\r?\n/)) {
    const [, mark = '', info = ''] = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/.exec(line) ?? []
    if (open && mark.startsWith(open.mark) && info.trim() === '') {
      found.push(open.lines.join('\n'))
      open = null
    } else if (open) open.lines.push(line)
    else if (mark !== '') open = { mark, lines: [] }
  }
  return found
}

/** Where a JSON text may begin. Prose has braces and brackets too; those that begin no object and no list of objects are left alone. */
const BEGINNING = /\{(?=\s*["}])|\[(?=\s*\{)/g

/** The objects of the top level: what stands inside another is a part of it, and no answer. */
const bareObjects = (text: string): Answer[] | 'cut off' => {
  const found: Answer[] = []
  const beginning = new RegExp(BEGINNING)
  for (let match = beginning.exec(text); match; match = beginning.exec(text)) {
    const end = endOf(text, match.index)
    if (end === null) return 'cut off'
    found.push(...[objectOf(text.slice(match.index, end))].filter((one) => one !== null))
    beginning.lastIndex = end
  }
  return found
}

/** Behind the bracket that closes the one at `start`; null where none does. */
const endOf = (text: string, start: number): number | null => {
  let depth = 0
  let isString = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (isString) {
      if (char === '\\') at++
      else if (char === '"') isString = false
    } else if (char === '"') isString = true
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return at + 1
  }
  return null
}
