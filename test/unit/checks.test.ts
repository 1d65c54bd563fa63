/** The linter's settings catch what they are there for. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'checks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const lint = (text: string): { code: number | null; rules: string[] } => {
  writeFileSync(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "strict": true, "target": "es2024", "module": "nodenext" } }')
  writeFileSync(join(folder, 'planted.ts'), text)
  const args = [join(root, 'node_modules/oxlint/bin/oxlint'), '-c', join(root, '.ci/oxlintrc.json'), '-f', 'json', folder]
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code?: string }[] }
  return { code: status, rules: diagnostics.map((diagnostic) => diagnostic.code ?? '') }
}

const WAIT = 'const wait = async (): Promise<number> => Promise.resolve(1)\n'

test.each([
  ['a floating promise', `${WAIT}export const go = (): void => {\n  wait()\n}\n`, 'typescript(no-floating-promises)'],
  ['a promise where a condition is meant', `${WAIT}export const go = (): number => (wait() ? 1 : 2)\n`, 'typescript(no-misused-promises)'],
  ['any', 'export const go = (value: any): unknown => value\n', 'typescript(no-explicit-any)'],
  ['a switched-off type check', '// @ts-ignore\nexport const go: number = 1\n', 'typescript(ban-ts-comment)'],
  ['a rule switched off for nothing', '// oxlint-disable-next-line eqeqeq\nexport const go = 1\n', ''],
])('%s fails', (_name, text, rule) => {
  const { code, rules } = lint(text)
  expect(code).toBe(1)
  expect(rules).toContain(rule)
})

test('what is as it should be passes', () => {
  expect(lint(`${WAIT}export const go = async (): Promise<number> => (await wait()) + 1\n`)).toEqual({ code: 0, rules: [] })
})
