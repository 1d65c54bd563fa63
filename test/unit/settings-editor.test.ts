import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { editorSchema, settingsExample } from '../../lib/loop/settings-example.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const isValid = new Ajv({ strict: true, allowUnionTypes: true }).compile(JSON.parse(read('docs/reviewloop.schema.json')) as object)
const errorsOf = (text: string): string[] => (isValid(parse(text)) ? [] : (isValid.errors ?? []).map((error) => error.instancePath))

describe('the JSON schema for editors', () => {
  test('is the file in docs/, closed at every object', () => {
    expect(JSON.parse(read('docs/reviewloop.schema.json'))).toEqual(editorSchema())
    const objects = JSON.stringify(editorSchema()).split('"type":"object"').length - 1
    expect(JSON.stringify(editorSchema()).split('"additionalProperties":false').length - 1).toBe(objects)
    expect(objects).toBeGreaterThan(3)
  })

  test('takes what init writes, and the examples of the configuration page', () => {
    const examples = [...read('docs/configuration.md').matchAll(/```yaml\n([^]*?)```/g)].map(([, yaml = '']) => yaml)
    expect(examples.some((yaml) => yaml.includes('block_on'))).toBe(true)
    const settings = examples.filter((yaml) => parse(yaml) !== null)
    for (const text of [settingsExample(), ...settings]) expect(errorsOf(text)).toEqual([])
  })

  test.each([
    'agent: lint',
    'agent: [claude, lint]',
    'agent: {reviewer: claude, fixer: [codex, lint]}',
    'sessions: {max_idle: 5}',
    'sessions: {max_idle: auto}',
    '{}',
  ])('takes %s', (text) => {
    expect(errorsOf(text)).toEqual([])
  })

  test.each([
    ['round: 1', ''],
    ['rounds: 99', '/rounds'],
    ['limits: {fils: 1}', '/limits'],
    ['block_on: [fatal]', '/block_on/0'],
    ['ignore: ["!keep"]', '/ignore/0'],
    ['path_instructions: [{path: a}]', '/path_instructions/0'],
    ['agent: {critic: a}', '/agent'],
    ['sessions: {max_idle: often}', '/sessions/max_idle'],
  ])('refuses %s', (text, place) => {
    expect(errorsOf(text)).toContain(place)
  })

  test('is named by the first line of what init writes, at a place where the package has it', () => {
    const [first = ''] = settingsExample().split('\n')
    expect(first).toMatch(/^# yaml-language-server: \$schema=/)
    expect(read('docs/configuration.md')).toContain(`\n${first}\n`)
    const [, path] = /\$schema=node_modules\/reviewloop\/(\S+)$/.exec(first) ?? []
    expect(JSON.parse(read(String(path)))).toHaveProperty('properties.rounds')
  })
})
