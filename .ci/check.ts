/**
 * `npm run check`: what CI runs, in CI's order. With names, these steps only: `npm run lint` is `check.ts lint`.
 * Ends with `N passed, N failed` where every test counts and every other step counts as one.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closingLine } from '../test/support/tally.ts'

const SOURCES = ['bin', 'lib', 'functions', 'test', 'bench', '.ci']
/** What code writes stands as it was written. */
const FORMATTED = [...SOURCES, '!**/*.asl.json', '!test/golden/**']
const root = fileURLToPath(new URL('..', import.meta.url))
const tool = (path: string, ...args: string[]): string[] => [process.execPath, join('node_modules', path), ...args]

const STEPS: Record<string, string[]> = {
  test: ['npm', 'test'],
  'dynamodb-local': ['npm', 'run', 'test:dynamodb-local'],
  agents: ['npm', 'run', 'test:agents'],
  lint: tool('oxlint/bin/oxlint', '-c', '.ci/oxlintrc.json', ...SOURCES),
  formatted: tool('oxfmt/bin/oxfmt', '-c', '.ci/oxfmtrc.json', '--check', ...FORMATTED),
  types: tool('typescript7/bin/tsc', '-p', '.'),
  arch: tool('dependency-cruiser/bin/dependency-cruiser.mjs', '--config', '.ci/dependency-cruiser.mjs', 'bin', 'lib', 'functions'),
  knip: tool('knip/bin/knip.js'),
  generated: [process.execPath, '.ci/generate.ts', '--check'],
  synth: tool('aws-cdk/bin/cdk', 'synth', '--quiet', '--no-notices'),
  // Neither the install nor a step may have changed a tracked file or left one behind: asked of a fresh clone only.
  unchanged: ['bash', '-c', 'left=$(git status --porcelain) && printf %s "$left" && test -z "$left"'],
  format: tool('oxfmt/bin/oxfmt', '-c', '.ci/oxfmtrc.json', ...FORMATTED),
}
const CI = [
  'test',
  'dynamodb-local',
  'agents',
  'lint',
  'formatted',
  'types',
  'arch',
  'knip',
  'generated',
  'synth',
  ...(process.env['CI'] ? ['unchanged'] : []),
]

/** Runs one step and copies what it prints; answers its exit code and the counts of its last line, where it has any. */
const run = async (name: string, home: string): Promise<{ code: number; passed: number; failed: number; skipped: number }> => {
  const [command = '', ...args] = STEPS[name] ?? []
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`
  const env = { ...process.env, PATH: path, CDK_HOME: home, CDK_DISABLE_CLI_TELEMETRY: 'true' }
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let tail = ''
  child.stdout.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk)
    tail = (tail + chunk.toString()).slice(-500)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  const counts = /(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$/.exec(tail)
  const number = (index: number): number => Number(counts?.[index] ?? 0)
  return { code: code ?? 1, passed: number(1), failed: number(2), skipped: number(3) }
}

const named = process.argv.slice(2)
const unknown = named.filter((name) => !STEPS[name])
if (unknown.length > 0) {
  console.error(`no such step: ${unknown.join(', ')}; there are ${Object.keys(STEPS).join(', ')}`)
  process.exit(2)
}

const sum = { passed: 0, failed: 0, skipped: 0 }
const broken: string[] = []
const home = await mkdtemp(join(tmpdir(), 'reviewloop-check-'))
for (const name of named.length > 0 ? named : CI) {
  console.log(`── ${name}`)
  const started = Date.now()
  const { code, passed, failed, skipped } = await run(name, home)
  const isTest = passed + failed + skipped > 0
  sum.passed += isTest ? passed : Number(code === 0)
  // A step that ends badly counts as a failure whatever it counted itself.
  sum.failed += Math.max(failed, Number(code !== 0))
  sum.skipped += skipped
  if (code !== 0) broken.push(name)
  console.log(`── ${name} ${code === 0 ? 'passed' : `failed (exit ${code})`} in ${((Date.now() - started) / 1000).toFixed(1)} s`)
}
await rm(home, { recursive: true, force: true })
if (broken.length > 0) console.log(`failed: ${broken.join(', ')}`)
console.log(closingLine(sum))
process.exitCode = sum.failed > 0 ? 1 : 0
