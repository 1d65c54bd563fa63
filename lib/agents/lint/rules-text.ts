/** Rules for JSON, CSS and Markdown. */
import { defect, fixable, note, suspect, type RuleTable, type Site } from './rule.ts'

const looksLikeLink = ({ raw }: Site): boolean =>
  raw.edits.some((edit) => /\]\((?:https?:|mailto:|#|\.{0,2}\/|[\w-]+[./]\w)/u.test(edit.text))
const clearOfWord = ({ text, raw }: Site): boolean => !/[\w\])]/u.test(text.charAt(raw.start - 1))
/** One hash before a word may be a tag or the number of an issue. */
const surelyHeading = ({ lineText }: Site): boolean => /^ {0,3}#{2,6}[^#\s]/u.test(lineText)

export const TEXT_RULES: RuleTable = {
  'json/no-duplicate-keys': defect('Which of the two values counts depends on the reader.'),
  'json/no-unsafe-values': note('Readers may give another value.'),
  'json/no-empty-keys': note('It was perhaps left over.'),

  'css/no-invalid-at-rule-placement': suspect('Browsers ignore it there.'),
  'css/no-invalid-named-grid-areas': suspect('Browsers ignore the whole declaration.'),
  'css/no-invalid-properties': note('Browsers that do not know it ignore it.', { options: [{ allowUnknownVariables: true }] }),
  'css/no-empty-blocks': note(''),
  'css/no-duplicate-imports': note(''),
  'css/no-duplicate-keyframe-selectors': note('The later one wins.'),
  'css/no-unmatchable-selectors': note(''),

  'markdown/no-reversed-media-syntax': fixable('It is shown as plain text.', undefined, {
    holds: (site) => looksLikeLink(site) && clearOfWord(site),
  }),
  'markdown/no-missing-atx-heading-space': fixable('It is shown as plain text.', undefined, { holds: surelyHeading }),
  'markdown/heading-increment': note(''),
  'markdown/no-empty-images': note(''),
  'markdown/no-empty-links': note(''),
  'markdown/table-column-count': note('Cells past the header are not shown.'),
}
