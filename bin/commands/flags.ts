import type { Command } from 'commander'
import { assertWritable, parseOutputs, type Outputs } from '../terminal/output.ts'

export interface CommonFlags {
  data?: string
  output?: string[]
  quiet?: boolean
}

export interface RemoteFlags extends CommonFlags {
  remote?: string
  wait?: boolean
}

const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]

export const dataFlag = (command: Command): Command =>
  command.option('--data <dir>', 'data folder (default: REVIEWLOOP_DATA, else the state folder of the platform)')

/** Where a report goes. */
export const outputFlags = (command: Command): Command =>
  command
    .option('--output <format[=file]>', 'text, json, sarif, markdown or patch on stdout, or into a file; may be repeated', collect)
    .option('-q, --quiet', 'no progress on stderr')

/** Flags of every command that ends with a report of a run of the data folder. */
export const reportFlags = (command: Command): Command => outputFlags(dataFlag(command))

export const remoteFlag = (command: Command): Command =>
  command.option('--remote <url>', 'ask a deployment instead, signed with your AWS credentials')

export const jsonFlag = (command: Command): Command => command.option('--json', 'JSON on stdout, for programs')

export const waitFlag = (command: Command): Command =>
  command.option('--wait', 'with --remote: follow the run until it ends or waits for a person')

/** Errors: BadRequest, also for a file that could not be written: asked before a run has taken its time. */
export const outputsOf = (flags: CommonFlags): Outputs => {
  const outputs = parseOutputs(flags.output ?? [])
  for (const { path } of outputs.files) assertWritable(path)
  return outputs
}
