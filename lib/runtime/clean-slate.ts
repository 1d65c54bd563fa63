/** A warm Lambda keeps its disk: what a turn of another run left there, killed perhaps, is gone before the next one begins. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Invocation } from '../loop/ports.ts'

const OURS = 'reviewloop-'

type Work = (event: unknown, invocation: Invocation) => Promise<unknown>

/**
 * Around the functions that touch source: removes every folder of ours below `folder`, and gives the invocation an empty HOME.
 * A function instance has one invocation at a time and the disk to itself, so nothing of anybody's is in use.
 */
export const onCleanSlate =
  (work: Work, folder: string = tmpdir()): Work =>
  (event, invocation) => {
    for (const name of readdirSync(folder)) if (name.startsWith(OURS)) rmSync(join(folder, name), { recursive: true, force: true })
    process.env['HOME'] = mkdtempSync(join(folder, `${OURS}home-`))
    return work(event, invocation)
  }
