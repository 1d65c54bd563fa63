/** Counts what a test run did. Pure: `test/run.ts` gives it vitest's results and prints what it answers. */
import { neededBy, type Program } from './needs.ts'

export interface Outcome {
  name: string
  state: 'passed' | 'failed' | 'skipped' | 'pending'
}

export interface Tally {
  passed: number
  failed: number
  skipped: number
  /** What a reader has to know besides the numbers. */
  remarks: string[]
}

/**
 * A skip is allowed only for a program that is missing: any other, a test that never ran, an error outside of any test
 * and a run of no test at all count as failures.
 */
export const tally = (outcomes: readonly Outcome[], errors: number, installed: (program: Program) => boolean): Tally => {
  const result: Tally = { passed: 0, failed: errors, skipped: 0, remarks: [] }
  for (const { name, state } of outcomes) {
    const program = neededBy(name)
    if (state === 'passed') result.passed += 1
    else if (state === 'skipped' && program && !installed(program)) {
      result.skipped += 1
      result.remarks.push(`skipped, ${program} is not installed: ${name}`)
    } else {
      result.failed += 1
      if (state !== 'failed') result.remarks.push(`did not run, and nothing that it needs is missing: ${name}`)
    }
  }
  if (outcomes.length === 0) {
    result.failed += 1
    result.remarks.push('no test was found')
  }
  return result
}

/** The closing line: `12 passed, 0 failed`, and `, 1 skipped` where something was. */
export const closingLine = ({ passed, failed, skipped }: Pick<Tally, 'passed' | 'failed' | 'skipped'>): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
