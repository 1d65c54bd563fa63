/** `npm test`, with vitest's own filters and flags after `--`. Its last line is `N passed, N failed[, N skipped]`. */
import { fileURLToPath } from 'node:url'
import { parseCLI, startVitest } from 'vitest/node'
import { isInstalled } from './support/needs.ts'
import { closingLine, tally } from './support/tally.ts'

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const vitest = await startVitest('test', filter, {
  ...options,
  config: fileURLToPath(new URL('vitest.config.ts', import.meta.url)),
  root: fileURLToPath(new URL('..', import.meta.url)),
  watch: false,
})
const modules = vitest.state.getTestModules()
const outcomes = modules.flatMap((module) =>
  [...module.children.allTests()].map((test) => ({ name: `${module.relativeModuleId} > ${test.fullName}`, state: test.result().state })),
)
// A file that does not load has no tests that could fail: its own errors count, and so do those that no test caught.
const suites = modules.flatMap((module) => [module, ...module.children.allSuites()])
const errors = suites.reduce((sum, suite) => sum + suite.errors().length, 0) + vitest.state.getUnhandledErrors().length
await vitest.close()

const result = tally(outcomes, errors, isInstalled)
for (const remark of result.remarks) console.log(remark)
console.log(closingLine(result))
process.exit(result.failed > 0 ? 1 : 0)
