/** Takes the force out of Ruff's in-source suppressions. It obeys them, and the change is not to say what its reviewer overlooks. */

const DIRECTIVE = /noqa|ruff|isort/giu
/** Same length, so that every position holds. */
const MASKS: Readonly<Record<string, string>> = { noqa: 'n0qa', ruff: 'r0ff', isort: 'is0rt' }
const MASK = /n0qa|r0ff|is0rt/u

export const hasDirective = (text: string): boolean => text.search(DIRECTIVE) >= 0

/** A fix that would write masked text into the file cannot be used. */
export const holdsMask = (text: string): boolean => MASK.test(text)

/**
 * Masks the directives in comments, and in comments alone: strings stay as they are.
 * @param tokens Ruff's own list of tokens, with positions in bytes of UTF-8; its lexer is the one that finds the comments.
 */
export const maskDirectives = (text: string, tokens: string): string => {
  const bytes = Buffer.from(text)
  for (const match of tokens.matchAll(/^ *Comment (\d+)\.\.(\d+)/gmu)) {
    const comment = bytes.subarray(Number(match[1]), Number(match[2]))
    comment.write(
      comment.toString('latin1').replaceAll(DIRECTIVE, (word) => MASKS[word.toLowerCase()] ?? word),
      'latin1',
    )
  }
  return bytes.toString()
}
