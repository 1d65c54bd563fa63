/** Rules for Python, by Ruff's codes. Its WebAssembly build does not tell safe fixes from others: those here are listed by hand. */
import { defect, fixable, note, suspect, type RuleTable, type Site } from './rule.ts'

/** Files whose imports are there for others: packages and shims give names on, pytest finds fixtures by import. */
const importsForOthers = (path: string): boolean => /(?:^|\/)(?:__init__|conftest|[^/]*compat[^/]*)\.py$|\.pyi$/u.test(path)

const indentOf = (line: string): number => /^[\r\f]*([ \t]*)/u.exec(line)?.[1]?.length ?? 0

/** Whether the line stands below an `if`, a `try` or the like: imports there are often tried out, or are there for others. */
const isConditional = ({ text, raw, lineText }: Site): boolean => {
  const indent = indentOf(lineText)
  if (indent === 0) return false
  const above = text.slice(0, raw.start).split('\n').slice(0, -1)
  const header = above.findLast((line) => line.trim() !== '' && indentOf(line) < indent)
  return !/^\s*(?:async\s+)?def\b/u.test(header ?? '')
}

/** Without a fix of Ruff's, an import is one that is tried out. */
const unusedImport = (site: Site): boolean => site.raw.edits.length > 0 && !importsForOthers(site.path) && !isConditional(site)

/** In quotes it is part of an annotation, which names what it likes and is never looked up. */
const isLookedUp = ({ text, raw }: Site): boolean => !/["']/u.test(text.charAt(raw.start - 1))

/** An import marked as meant may be there for what it does on loading: still reported, but only a person may take it out. */
const notMarked = ({ text, lineText, raw }: Site): boolean => {
  const touched = raw.edits.map((edit) => text.slice(edit.start, (text.indexOf('\n', edit.end - 1) + 1 || text.length + 1) - 1))
  return ![lineText, ...touched].some((part) => /#.*\bnoqa\b/iu.test(part))
}

export const PYTHON_RULES: RuleTable = {
  // mended without asking
  'ruff/F401': suspect('', { safe: notMarked, holds: unusedImport }),
  'ruff/F541': fixable('The prefix does nothing.'),
  'ruff/F632': fixable('`is` compares identity, which literals do not promise.'),
  'ruff/E713': fixable('It reads as a negated value.'),
  'ruff/E714': fixable('It reads as a negated value.'),
  'ruff/W605': fixable('Python warns of it, and is to refuse it.'),

  // wrong for certain
  'ruff/F502': defect('It throws when it is reached.'),
  'ruff/F503': defect('It throws when it is reached.'),
  'ruff/F505': defect('It throws when it is reached.'),
  'ruff/F506': defect('It throws when it is reached.'),
  'ruff/F507': defect('It throws when it is reached.'),
  'ruff/F508': defect('It throws when it is reached.'),
  'ruff/F509': defect('It throws when it is reached.'),
  'ruff/F521': defect('It throws when it is reached.'),
  'ruff/F524': defect('It throws when it is reached.'),
  'ruff/F525': defect('It throws when it is reached.'),
  'ruff/F601': defect('The earlier value is lost.'),
  'ruff/F621': defect('It does not compile.'),
  'ruff/F622': defect('It does not compile.'),
  'ruff/F631': defect('A tuple is always true: nothing is asserted.'),
  'ruff/F633': defect('`>>` is an operator here, not a redirection.'),
  'ruff/F634': defect('A tuple is always true.'),
  'ruff/F701': defect('It does not compile.'),
  'ruff/F702': defect('It does not compile.'),
  'ruff/F704': defect('It does not compile.'),
  'ruff/F706': defect('It does not compile.'),
  'ruff/F707': defect('It does not compile.'),
  'ruff/F821': defect('It throws when it is reached.', { holds: isLookedUp }),
  'ruff/F822': defect('Importing everything from the module throws.'),
  'ruff/F823': defect('It throws when it is reached.'),
  'ruff/PLE0101': defect('Making an object throws.'),
  'ruff/PLE0302': defect('Python calls it with other arguments.'),
  'ruff/PLE0604': defect('Importing everything from the module throws.'),
  'ruff/PLE1205': defect('The message is lost when it is logged.'),
  'ruff/PLE1206': defect('The message is lost when it is logged.'),
  'ruff/PLE1300': defect('It throws when it is reached.'),
  'ruff/PLE1307': defect('It throws when it is reached.'),

  // nearly always wrong
  'ruff/B032': suspect('It is an annotation, not an assignment.'),

  // for information
  'ruff/B006': note('Every call shares the one default.'),
  'ruff/B015': note('The outcome is thrown away: an assertion or an assignment was perhaps meant.'),
  'ruff/B020': note('The loop overwrites what it runs over.'),
  'ruff/B023': note('It sees the value of the last pass.'),
  'ruff/E711': note('A class may define equality; `is` cannot be fooled.'),
  'ruff/E722': note('It catches interrupts and exits too.'),
  'ruff/F402': note('The import cannot be reached after the loop.'),
  'ruff/F811': note('The earlier one is lost.'),
  'ruff/F841': note(''),
}
