import { describe, expect, test } from 'vitest'
import { isInstalled, testWith } from '../support/needs.ts'
import { closingLine, tally } from '../support/tally.ts'

const none = () => false
const all = () => true

describe('the closing count of a test run', () => {
  test('counts passed, failed and allowed skips', () => {
    const result = tally(
      [
        { name: 'a', state: 'passed' },
        { name: 'b', state: 'failed' },
        { name: 'c (needs java)', state: 'skipped' },
      ],
      0,
      none,
    )
    expect(closingLine(result)).toBe('1 passed, 1 failed, 1 skipped')
    expect(result.remarks).toEqual(['skipped, java is not installed: c (needs java)'])
  })

  test('says nothing of skips where there are none', () => {
    expect(closingLine(tally([{ name: 'a', state: 'passed' }], 0, all))).toBe('1 passed, 0 failed')
  })

  test('a skip fails where the program that the test needs is installed', () => {
    expect(closingLine(tally([{ name: 'c (needs java)', state: 'skipped' }], 0, all))).toBe('0 passed, 1 failed')
  })

  test.each([
    ['a skip for no reason', 'skipped'],
    ['a test that never ran', 'pending'],
  ] as const)('%s fails', (name, state) => {
    expect(tally([{ name, state }], 0, none).failed).toBe(1)
  })

  test('an error outside of any test fails, and so does a run without tests', () => {
    expect(tally([{ name: 'a', state: 'passed' }], 1, none).failed).toBe(1)
    expect(tally([], 0, none)).toMatchObject({ failed: 1, remarks: ['no test was found'] })
  })
})

describe('a test that needs a program', () => {
  test('looks for the program on the path', () => {
    const path = process.env['PATH']
    try {
      process.env['PATH'] = '/nowhere'
      expect(isInstalled('java')).toBe(false)
    } finally {
      process.env['PATH'] = path
    }
  })

  let ran = false
  testWith('java', all)('runs where it is installed', () => {
    ran = true
  })
  test('and is not run otherwise', () => expect(ran).toBe(true))
})
