/** `--output FORMAT[=FILE]`: which report goes where. */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { LoopError } from '../../lib/loop/errors.ts'

export const FORMATS = ['text', 'json', 'sarif', 'markdown', 'patch'] as const
export type Format = (typeof FORMATS)[number]

export interface Outputs {
  /** The one format on stdout. */
  stdout: Format
  files: { format: Format; path: string }[]
}

/** Reads the values of --output. Without one for stdout, the text report goes there. Error: BadRequest. */
export const parseOutputs = (values: readonly string[], cwd: string = process.cwd()): Outputs => {
  const files: Outputs['files'] = []
  let stdout: Format | null = null
  for (const value of values) {
    const [name, ...rest] = value.split('=')
    const format = FORMATS.find((known) => known === name)
    if (!format) throw new LoopError('BadRequest', `--output takes ${FORMATS.join(', ')} or FORMAT=FILE, not ${JSON.stringify(value)}.`)
    const path = rest.join('=')
    if (rest.length > 0 && !path) throw new LoopError('BadRequest', `--output ${format}= names no file.`)
    if (path) files.push({ format, path: resolve(cwd, path) })
    else if (stdout && stdout !== format)
      throw new LoopError('BadRequest', `--output ${stdout} and ${format} both go to stdout: give one of them a file.`)
    else stdout = format
  }
  return { stdout: stdout ?? 'text', files }
}

/** Refuses a file whose folder is missing, or where nothing may be written. Error: BadRequest. */
export const assertWritable = (path: string): void => {
  const folder = dirname(path)
  const refuse = (why: string) => new LoopError('BadRequest', `No report can be written to ${path}: ${why}.`, { path })
  const about = (entry: string) => statSync(entry, { throwIfNoEntry: false })
  try {
    if (!about(folder)?.isDirectory()) throw refuse(`there is no folder ${folder}`)
    const file = about(path)
    if (file?.isDirectory()) throw refuse('it is a folder')
    accessSync(file ? path : folder, constants.W_OK)
  } catch (error) {
    throw error instanceof LoopError ? error : refuse(error instanceof Error ? error.message : String(error))
  }
}
