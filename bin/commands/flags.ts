import type { Command } from 'commander'
import { assertWritable, parseOutputs, type Outputs } from '../terminal/output.ts'

export interface CommonFlags {
  data?: string
  output?: string[]
  quiet?: boolean
}

const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]

export const dataFlag = (command: Command): Command =>
  command.option('--data <dir>', 'data folder (default: REVIEWLOOP_DATA, else the state folder of the platform)')

/** Flags of every command that ends with a report. */
export const reportFlags = (command: Command): Command =>
  dataFlag(command)
    .option('--output <format[=file]>', 'text, json, sarif or markdown on stdout, or into a file; may be repeated', collect)
    .option('-q, --quiet', 'no progress on stderr')

/** Errors: BadRequest, also for a file that could not be written: asked before a run has taken its time. */
export const outputsOf = (flags: CommonFlags): Outputs => {
  const outputs = parseOutputs(flags.output ?? [])
  for (const { path } of outputs.files) assertWritable(path)
  return outputs
}
