/** The documentation names what is there, and all of it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { beforeAll, describe, expect, test } from 'vitest'
import { EXIT } from '../../bin/terminal/exit.ts'
import { ENV, STEPS } from '../../lib/names.ts'
import { policy } from '../../lib/loop/policy.ts'
import { runState } from '../../lib/loop/run.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
]

/** As the forge makes it from a heading. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
const withoutCode = (text: string): string => text.replace(/^```[^]*?^```/gm, '')
const anchors = (file: string): string[] => [...withoutCode(read(file)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchor(heading))
const links = (file: string): string[] => [...withoutCode(read(file)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)

describe('links', () => {
  test.each(pages)('of %s lead somewhere', (page) => {
    const broken = links(page).filter((target) => {
      if (/^https?:/.test(target)) return false
      const [path = '', fragment] = target.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      return !existsSync(join(root, file)) || (fragment !== undefined && !anchors(file).includes(fragment))
    })
    expect(broken).toEqual([])
  })

  test('the index leads to every page', () => {
    const reached = links('docs/index.md').map((target) => join('docs', target))
    expect(pages.filter((page) => page !== 'README.md' && page !== 'docs/index.md' && !reached.includes(page))).toEqual([])
  })

  test('paths in the text are there', () => {
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:lib|bin|functions|test|bench|examples|docs|\.ci)\/[\w./-]+)`/g)].map(
        ([, path = '']) => `${page}: ${path}`,
      ),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((entry) => !existsSync(join(root, entry.split(': ')[1] ?? '')))).toEqual([])
  })
})

describe('where things are', () => {
  const trees = ['README.md', 'docs/architecture.md'].map((page) => [page, /^```\n(bin\/[^]*?)^```/m.exec(read(page))?.[1] ?? ''] as const)
  /** What a line names first, below the folder that it is indented under. */
  const entries = (tree: string): string[] => {
    let above = ''
    return tree.split('\n').flatMap((line) => {
      const [, indent = '', names = ''] = /^( *)(\S+(?: {1,2}\S+\/)*)/.exec(line) ?? []
      if (indent === '') above = names
      return names === '' ? [] : names.split(/ +/).map((name) => join(indent === '' ? '' : above, name))
    })
  }

  test.each(trees)('the folders that %s shows are there', (_page, tree) => {
    expect(entries(tree).length).toBeGreaterThan(4)
    expect(entries(tree).filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test.each(trees)('the parts that %s names are there', (_page, tree) => {
    const parts = (folder: string) =>
      (new RegExp(`^ *${folder}/ +(.* · .*)$`, 'm').exec(tree)?.[1] ?? '').replaceAll(/\(.*?\)/g, '').split('·')
    const missing = ['test', 'lib'].flatMap((folder) =>
      parts(folder).flatMap((part) => (existsSync(join(root, folder, part.trim())) ? [] : [join(folder, part.trim())])),
    )
    expect(missing).toEqual([])
    const subjects = /^ *(?:lib\/)?loop\/ +the domain, pure: (.*)$/m.exec(tree)?.[1]?.split(', ') ?? []
    expect(subjects.length).toBeGreaterThan(4)
    const files = readdirSync(join(root, 'lib/loop')).map((file) => file.replaceAll('-', '').toLowerCase())
    // a round is no file: it is a number of the run
    const isThere = (word: string) => files.some((file) => file.startsWith(word.toLowerCase())) || word in runState.shape
    expect(subjects.filter((word) => !isThere(word))).toEqual([])
  })
})

describe('the command line', () => {
  const page = read('docs/cli.md')
  const program = new Command('reviewloop')
  beforeAll(async () => {
    for (const file of readdirSync(join(root, 'bin/commands'))) {
      const module = (await import(join(root, 'bin/commands', file))) as Record<string, unknown>
      for (const [name, add] of Object.entries(module))
        if (name.endsWith('Command') && typeof add === 'function') (add as (program: Command, done: () => void) => void)(program, () => {})
    }
  })
  const section = (name: string): string => new RegExp(`^### ${name}$([^]*?)^##`, 'm').exec(page)?.[1] ?? ''
  const shared = /^## Flags of several commands$([^]*?)^## /m.exec(page)?.[1] ?? ''

  test('every command has a section, and every section a command', () => {
    const commands = program.commands.map((command) => command.name())
    expect(commands.length).toBeGreaterThan(8)
    const sections = [...(/^## Commands$([^]*?)^## /m.exec(page)?.[1] ?? '').matchAll(/^### (\S+)$/gm)].map(([, name = '']) => name)
    expect(sections.toSorted()).toEqual(commands.toSorted())
  })

  test('every flag is described with its command, or among those of several', () => {
    const missing = program.commands.flatMap((command) => {
      const text = `${section(command.name())}${shared}`
      return command.options
        .filter((option) => !text.includes(option.long ?? option.flags))
        .map((option) => `${command.name()} ${option.flags}`)
    })
    expect(missing).toEqual([])
  })

  test('no flag is described that there is not', () => {
    const known = new Set(program.commands.flatMap((command) => command.options.flatMap((option) => [option.long, option.short])))
    const described = [...page.matchAll(/`(--?[a-z][\w-]*)/g)].map(([, flag]) => flag)
    expect(described.filter((flag) => !known.has(flag))).toEqual([])
  })

  test('every exit code is described', () => {
    const codes = [...(/^## Exit codes$([^]*?)^## /m.exec(page)?.[1] ?? '').matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))
    expect(codes.toSorted((a, b) => a - b)).toEqual(Object.values(EXIT).toSorted((a, b) => a - b))
  })
})

describe('configuration', () => {
  const page = read('docs/configuration.md')

  test('the table has every key', () => {
    const keys = (value: unknown, path: string): string[] =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).flatMap(([key, inner]) => keys(inner, path === '' ? key : `${path}.${key}`))
        : [path]
    const wanted = [...keys(policy.parse({}), ''), 'agent']
    expect(wanted.filter((key) => !page.includes(`| \`${key}\` |`))).toEqual([])
  })

  test('the example is valid', async () => {
    const { parse } = await import('yaml')
    const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(page) ?? []
    expect(policy.safeParse(parse(yaml)).error).toBeUndefined()
  })

  test('the variables that people set are named', () => {
    for (const name of [ENV.data, ENV.gitToken, 'NO_COLOR']) expect(page).toContain(`\`${name}\``)
  })
})

test('the table of the state machine has every state, its picture every step', () => {
  const page = read('docs/state-machine.md')
  for (const step of STEPS) expect(page).toContain(`| \`${step}\` |`)
  const picture = /```mermaid([^]*?)```/.exec(page)?.[1] ?? ''
  for (const step of STEPS) expect(picture).toContain(step)
})

test('the README shows the two commands that do everything', () => {
  expect(read('README.md')).toContain('npm install && npm start')
  expect(read('README.md')).toContain('npm install && npm test')
})
