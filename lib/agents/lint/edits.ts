/** Edits of a text, and where places in it come to stand. */
import type { TextEdit } from './rule.ts'

/**
 * The edit without what it leaves as it is. Linters rewrite a whole declaration to change its first word; taken as it is, such an edit
 * would swallow every other one inside.
 */
export const trimmed = (text: string, { start, end, text: now }: TextEdit): TextEdit => {
  const old = text.slice(start, end)
  const most = Math.min(old.length, now.length)
  let head = 0
  while (head < most && old[head] === now[head]) head++
  let tail = 0
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++
  return { start: start + head, end: end - tail, text: now.slice(head, now.length - tail) }
}

const byStart = (a: TextEdit, b: TextEdit): number => a.start - b.start || a.end - b.end

const overlap = (a: TextEdit, b: TextEdit): boolean => (a.start === b.start && a.end === b.end) || (a.start < b.end && b.start < a.end)

/** Those groups of edits, in their order, that touch nothing an earlier one edits. */
export const compatible = <Group extends { edits: readonly TextEdit[] }>(
  groups: readonly Group[],
): { chosen: Group[]; edits: TextEdit[] } => {
  const edits: TextEdit[] = []
  const chosen = groups.filter((group) => {
    if (group.edits.some((edit) => edits.some((other) => overlap(edit, other)))) return false
    edits.push(...group.edits)
    return true
  })
  return { chosen, edits: edits.toSorted(byStart) }
}

/** Applies edits that are sorted and do not overlap. */
export const applyEdits = (text: string, edits: readonly TextEdit[]): string => {
  let result = ''
  let at = 0
  for (const edit of edits) {
    result += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return result + text.slice(at)
}

/** Where an offset comes to stand once the edits are applied; null where it was taken out. */
export const moved = (offset: number, edits: readonly TextEdit[]): number | null => {
  let shift = 0
  for (const edit of edits) {
    if (edit.end <= offset && !(edit.start === offset && edit.end === offset)) shift += edit.text.length - (edit.end - edit.start)
    else if (edit.start <= offset && offset < edit.end) return edit.text === '' ? null : edit.start + shift
    else break
  }
  return offset + shift
}
