/** The known ways in which systems of this kind fail, by number: which tests carry each, and what is left to which later subject. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

type Later = 'forge' | 'stack'

/** Number, what goes wrong, and the subject that it (or what is left of it) waits for; null where all of it is tested. */
const CASES: readonly (readonly [number: number, what: string, later: Later | null])[] = [
  [1, 'an added line holds U+2028, a form feed or a vertical tab', null],
  [2, 'git quotes a name in octal; a name holds ` b/`', null],
  [3, 'a hunk header leaves a count out', null],
  [4, 'a last hunk of deletions only; a deleted file; a rename with edits', null],
  [5, 'a binary file, a UTF-16 file, an empty diff, a change of mode alone', null],
  [6, 'a CRLF file edited by the fixer; no line end at the end', null],
  [7, 'a diff far over the size limit, split by file for a model', null],
  [8, 'one changed line in a file of one huge line or of 10 MB', null],
  [9, "a model's output cut off, in a fence, with prose around, with backticks inside a string", null],
  [10, 'an agent says success and error at once, or ends for its turn limit', null],
  [11, "a finding's end before its start; a line outside the diff; a line that counts positions in the diff", null],
  [12, "a finding's path is absolute, climbs, is a symlink, or lies in .git", null],
  [13, 'the same request delivered twice, at once or an hour later', null],
  [14, 'the schedule and a person start the same branch', null],
  [15, 'the branch moves while the run works; is deleted; the base is pushed over', null],
  [16, 'a person reverts a fix', null],
  [17, "a superseded run's check", null],
  [18, '.gitmodules in the head pointing anywhere', null],
  [19, 'branch names with special and with shell characters', null],
  [20, "the change edits the loop's own settings", null],
  [21, 'a diff, comment or file tells the agent to print its environment or to approve', null],
  [22, 'a session id of another machine, another agent, another login', null],
  [23, 'a resume answers under a new id without an error', null],
  [24, 'the agent dies after its work, before its answer; the function is killed in the middle of a turn', null],
  [25, 'two workers hold the same turn', null],
  [26, 'a decision for a run that is no longer parked, or was answered already', null],
  [27, 'the fixer changes nothing; commits by itself; makes an empty commit; touches files outside the findings', null],
  [28, "a run's result over 256 KiB; an item over 400 KB", 'stack'],
  [29, 'an author who no longer exists; a commit without a name', null],
  [30, 'the forge answers 403, 404, 422, 429, 502, or accepts and times out', null],
]

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))

/** Names of tests and of groups of tests, by the number that they carry at their start. */
const named = (source: string): [number, string][] =>
  [...source.matchAll(/\b(?:it|test|describe)(?:\.each\([^]*?\))?\(\s*(['"`])(case (\d+): (?:(?!\1).)+)/g)].map(
    ([, , name = '', number]) => [Number(number), name],
  )

const carriers = new Map<number, string[]>()
for (const file of files)
  for (const [number, name] of named(readFileSync(`${root}test/${file}`, 'utf8')))
    carriers.set(number, [...(carriers.get(number) ?? []), `${file}: ${name}`])

describe('the list', () => {
  test('has every number once, in order', () => {
    expect(CASES.map(([number]) => number)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1))
  })

  test('tests carry no number that it has not', () => {
    expect([...carriers.keys()].filter((number) => !CASES.some(([known]) => known === number))).toEqual([])
  })

  test('the reader of names reads them', () => {
    expect(
      named(`  it('case 7: a', () => 1)\n test.each([1])("case 8: it's %s", f)\n describe(\`case 9: c\`, f)\n it('of case 3: d', f)`),
    ).toEqual([
      [7, 'case 7: a'],
      [8, "case 8: it's %s"],
      [9, 'case 9: c'],
    ])
  })
})

describe('every case', () => {
  test.each(CASES.filter(([, , later]) => later === null))('%i has a test: %s', (number) => {
    expect(carriers.get(number) ?? []).not.toEqual([])
  })

  test('or is left, with what is not tested of it yet, to a subject that comes later', () => {
    const left = Map.groupBy(
      CASES.filter(([, , later]) => later !== null),
      ([, , later]) => later,
    )
    expect(Object.fromEntries([...left].map(([later, cases]) => [later, cases.map(([number]) => number)]))).toEqual({
      stack: [28],
    })
  })
})
