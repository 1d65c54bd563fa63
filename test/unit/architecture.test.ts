/** The import rules hold, and would be seen broken: a cruise over nothing, or a rule that matches nothing, finds no violation either. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ICruiseResult } from 'dependency-cruiser'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Cruises a tree under the rules, as `npm run arch` does. */
const cruise = async (folder: string, ...targets: string[]): Promise<ICruiseResult> => {
  const bin = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs')
  const args = [bin, '--config', join(root, '.ci/dependency-cruiser.mjs'), '--output-type', 'json', ...targets]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 100_000_000 })
  return JSON.parse(stdout) as ICruiseResult
}

describe('the repository', () => {
  test('keeps the import rules, and its modules were looked at', async () => {
    const { modules, summary } = await cruise(root, 'bin', 'lib', 'functions')
    const own = modules.filter(({ source }) => /^(bin|lib|functions)\/.*\.ts$/.test(source))
    expect(own.length).toBeGreaterThan(100)
    expect(own.flatMap(({ dependencies }) => dependencies).length).toBeGreaterThan(own.length)
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([])
  })
})

/** Imports that break a rule: who, what, and the rule. */
const FORBIDDEN: readonly (readonly [from: string, to: string, rule: string])[] = [
  ['lib/loop/a.ts', 'lib/stores/target.ts', 'loop-imports-one-way'],
  ['lib/loop/b.ts', 'node:fs', 'loop-does-no-io'],
  ['lib/loop/c.ts', 'aws-cdk-lib', 'loop-does-no-io'],
  ['lib/names.ts', 'lib/loop/target.ts', 'names-imports-one-way'],
  ['lib/agents/a.ts', 'lib/stores/target.ts', 'agents-imports-one-way'],
  ['lib/stores/a.ts', 'functions/review/target.ts', 'stores-imports-one-way'],
  ['lib/workspace/a.ts', 'lib/local/target.ts', 'workspace-imports-one-way'],
  ['lib/workspace/a.ts', 'lib/forge/target.ts', 'workspace-imports-one-way'],
  ['lib/forge/a.ts', 'lib/stores/target.ts', 'forge-imports-one-way'],
  ['lib/runtime/a.ts', 'functions/review/target.ts', 'runtime-imports-one-way'],
  ['functions/fix/a.ts', 'functions/review/target.ts', 'a-function-imports-no-other'],
  ['functions/fix/b.ts', 'lib/local/target.ts', 'functions-imports-one-way'],
  ['lib/local/a.ts', 'bin/target.ts', 'local-imports-one-way'],
  ['lib/local/b.ts', 'lib/infra/target.ts', 'only-bin-takes-infra'],
  ['bin/a.ts', 'lib/infra/target.ts', 'only-bin-takes-infra'],
  ['bin/b.ts', 'aws-cdk-lib', 'only-infra-and-app-take-development-packages'],
  ['lib/infra/a.ts', 'lib/loop/target.ts', 'infra-takes-names-only'],
  ['lib/local/c.ts', 'lib/local/missing.ts', 'resolvable'],
]
const ALLOWED: readonly (readonly [from: string, to: string])[] = [
  ['lib/loop/target.ts', 'lib/names.ts'],
  ['lib/loop/d.ts', 'node:crypto'],
  ['lib/stores/target.ts', 'lib/loop/target.ts'],
  ['functions/review/target.ts', 'lib/runtime/target.ts'],
  ['lib/runtime/target.ts', 'lib/stores/target.ts'],
  ['lib/local/target.ts', 'functions/review/target.ts'],
  ['bin/target.ts', 'lib/local/target.ts'],
  ['bin/app.ts', 'lib/infra/target.ts'],
  ['lib/infra/target.ts', 'aws-cdk-lib'],
]

describe('a planted import', () => {
  let folder = ''
  let result: ICruiseResult
  const broken = (from: string): string[] =>
    result.summary.violations.filter((violation) => violation.from === from).map(({ rule }) => rule.name)

  const plant = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const specifier = (from: string, to: string): string =>
    /^(lib|bin|functions)\//.test(to) ? posix.relative(posix.dirname(from), to).replace(/^(?!\.)/, './') : to

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'architecture-'))
    await plant('tsconfig.json', '{ "compilerOptions": { "module": "nodenext", "allowImportingTsExtensions": true } }')
    await plant('package.json', '{ "type": "module", "devDependencies": { "aws-cdk-lib": "1.0.0" } }')
    await plant('node_modules/aws-cdk-lib/package.json', '{ "name": "aws-cdk-lib", "main": "index.js" }')
    await plant('node_modules/aws-cdk-lib/index.js', '')
    const pairs = [...FORBIDDEN, ...ALLOWED]
    for (const [from, to] of pairs) {
      if (/^lib|^bin|^functions/.test(to) && !to.includes('missing')) await plant(to, 'export const value = 1\n')
      await plant(from, '')
    }
    for (const [from, to] of pairs) await plant(from, `import * as it from '${specifier(from, to)}'\nexport const value = it\n`)
    await plant('lib/agents/barrel.ts', "export * from '../loop/d.ts'\n")
    await plant('lib/agents/circle-a.ts', "import type { B } from './circle-b.ts'\nexport type A = B | 1\n")
    await plant('lib/agents/circle-b.ts', "import type { A } from './circle-a.ts'\nexport type B = A | 2\n")
    result = await cruise(folder, 'bin', 'lib', 'functions')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(FORBIDDEN)('%s must not import %s: %s', (from, _to, rule) => {
    expect(broken(from)).toContain(rule)
  })

  test.each(ALLOWED)('%s may import %s', (from, to) => {
    const names = result.summary.violations
      .filter((violation) => violation.from === from && violation.to === to)
      .map(({ rule }) => rule.name)
    // names.ts is planted with a forbidden import of its own, which also closes a circle.
    expect(names.filter((name) => name !== 'no-cycles')).toEqual([])
  })

  test('re-exporting makes a barrel', () => expect(broken('lib/agents/barrel.ts')).toEqual(['no-barrels']))

  test('types alone close a circle', () => expect(broken('lib/agents/circle-a.ts')).toEqual(['no-cycles']))
})
