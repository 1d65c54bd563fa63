/** Tests that need a program which a fresh machine may lack: they skip by name where it is missing, and there alone. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'vitest'

const PROGRAMS = ['java', 'chromium', 'curl', 'jq'] as const
export type Program = (typeof PROGRAMS)[number]

export const isInstalled = (program: Program): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/** `testWith('java')('reads what the other engine wrote', …)`: named for what it needs, skipped where that is missing. */
export const testWith =
  (program: Program, installed: (program: Program) => boolean = isInstalled) =>
  (name: string, run: () => Promise<void> | void, timeout?: number): void =>
    test.skipIf(!installed(program))(`${name} (needs ${program})`, run, timeout)

/** The program whose lack explains a skip of this name; null where nothing does. */
export const neededBy = (name: string): Program | null => PROGRAMS.find((program) => name.endsWith(`(needs ${program})`)) ?? null
