/** Each threat of the page on security names a test, and that test is there. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const page = read('docs/security.md')

/** Threat, control, file and title of the test. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('`test/'))
  .map((line) => /^\| (.+?) \| (.+?) \| `(test\/[\w./-]+)`: (.+) \|$/.exec(line)?.slice(1) ?? [line])

test('there are threats', () => {
  expect(rows.length).toBeGreaterThan(20)
})

test.each(rows)('%s', (_threat, control, file = '', title = '') => {
  expect(control?.length).toBeGreaterThan(10)
  expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(true)
  expect([`'`, `"`, '`'].some((quote) => read(file).includes(`(${quote}${title}${quote},`))).toBe(true)
})
