import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { onCleanSlate } from '../../lib/runtime/clean-slate.ts'
import { invocationOf } from '../support/ports.ts'

let folder: string
const { HOME } = process.env

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slate-'))
})
afterEach(async () => {
  process.env['HOME'] = HOME
  await rm(folder, { recursive: true })
})

it('a turn finds nothing of the turn before, and a HOME that is empty', async () => {
  const seen: string[][] = []
  const turn = onCleanSlate(async () => {
    const home = process.env['HOME'] ?? ''
    seen.push(await readdir(home))
    await writeFile(join(home, '.credentials'), 'of this run')
    await mkdir(join(folder, 'reviewloop-workspace'))
  }, folder)
  await writeFile(join(folder, 'not-ours'), '')
  const invocation = invocationOf({ effects: { now: () => 0 } })
  await turn({}, invocation)
  const first = process.env['HOME'] ?? ''
  await turn({}, invocation)
  expect(seen).toEqual([[], []])
  expect(existsSync(first)).toBe(false)
  expect(existsSync(join(folder, 'not-ours'))).toBe(true)
})
