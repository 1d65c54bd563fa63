/** What may stand where, and what no file may hold. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { FUNCTION_FOLDERS, TASK_STATES } from '../../lib/names.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Tracked files and those that would be, without what is deleted in the work tree. */
const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(`${root}${file}`))
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8')
const source = files.filter((file) => /^(bin|lib|functions|test|bench|\.ci)\/.*\.(ts|mjs)$/.test(file))
const product = source.filter((file) => /^(bin|lib|functions)\//.test(file))
const length = (file: string): number => read(file).trimEnd().split('\n').length

test('there are files to look at', () => {
  expect(product.length).toBeGreaterThan(100)
})

describe('places', () => {
  test('the top level holds these and nothing else', () => {
    const allowed =
      'package.json package-lock.json tsconfig.json cdk.json README.md .gitignore .npmrc bin lib functions test bench docs examples .ci'
    expect([...new Set(files.map((file) => file.split('/')[0] ?? ''))].filter((name) => !allowed.split(' ').includes(name))).toEqual([])
  })

  test('functions holds one folder a function, each with a handler and an entry', () => {
    const wanted = Object.values(FUNCTION_FOLDERS).flatMap((folder) => [`functions/${folder}/handler.ts`, `functions/${folder}/index.ts`])
    expect(files.filter((file) => file.startsWith('functions/')).sort()).toEqual(wanted.sort())
  })

  test('every state has a folder of its name', () => {
    for (const state of TASK_STATES) expect(FUNCTION_FOLDERS[state]).toBe(state.replace(/(?<=.)[A-Z]/g, '-$&').toLowerCase())
  })

  test('one file is not TypeScript, beside tool settings', () => {
    expect(source.filter((file) => file.endsWith('.mjs') && !file.startsWith('.ci/'))).toEqual(['bin/node.mjs'])
  })

  test('tests stand in folders by what they test', () => {
    const misplaced = files.filter(
      (file) => file.endsWith('.test.ts') && !/^test\/(unit|property|machine|infra|integration|faults)\/[^/]+$/.test(file),
    )
    expect(misplaced).toEqual([])
  })

  test('no file only passes on what others have', () => {
    expect(product.filter((file) => /^export (\*|(type )?\{[^}]*\}) from/m.test(read(file)))).toEqual([])
  })
})

describe('lengths', () => {
  test('a handler has under 40 lines', () => {
    expect(source.filter((file) => file.startsWith('functions/') && length(file) >= 40)).toEqual([])
  })

  test('a file that grows past 200 lines has two subjects, unless it is a table', () => {
    expect(product.filter((file) => length(file) > 200 && !['lib/loop/errors.ts', 'lib/names.ts'].includes(file))).toEqual([])
  })

  test('the README has under 150 lines', () => expect(length('README.md')).toBeLessThan(150))
})

describe('text', () => {
  /** Spelled apart, so that this file does not match. */
  const loose = ['TO DO', 'FIX ME', 'HA CK', '. skip(', '. only(', '. todo('].map((word) => word.replace(' ', ''))

  test.each(loose)('nowhere stands %s', (word) => {
    expect(source.filter((file) => read(file).includes(word))).toEqual([])
  })

  test('the product switches no check off', () => {
    expect(
      product.filter((file) => /(?:\/\/|\/\*)\s*(?:eslint|oxlint)-disable|@ts-(?:ignore|expect-error|nocheck)/.test(read(file))),
    ).toEqual([])
  })

  test('zod is imported whole: its named import adds 454 KB to a bundle', () => {
    expect(source.filter((file) => /import (type )?(z\b|\{[^}]*\}).* from 'zod'/.test(read(file)))).toEqual([])
  })
})

describe('dependencies', () => {
  const manifest = JSON.parse(read('package.json')) as Record<
    'dependencies' | 'devDependencies' | 'optionalDependencies',
    Record<string, string>
  >
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { resolved?: string; integrity?: string; libc?: unknown; link?: boolean }>
  }

  test('every version is pinned exactly', () => {
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies })
    expect(all.filter(([, version]) => !/^(npm:(@[^@]+|[^@]+)@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })

  test('the lock names no registry, has a checksum for every package, and is what npm 10 and 11 both leave', () => {
    const entries = Object.entries(packages).filter(([path]) => path !== '')
    expect(entries.length).toBeGreaterThan(300)
    expect(entries.filter(([, entry]) => entry.resolved !== undefined || entry.libc !== undefined).map(([path]) => path)).toEqual([])
    expect(entries.filter(([, entry]) => !entry.integrity && !('inBundle' in entry)).map(([path]) => path)).toEqual([])
  })

  test('every npm script starts through the launcher', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const entries = Object.values(scripts).map((script) => /^node bin\/node\.mjs (\S+\.ts)( [\w -]+)?$/.exec(script)?.[1] ?? script)
    expect(entries.filter((entry) => !existsSync(`${root}${entry}`))).toEqual([])
  })
})
