/** The report of a run: on stdout, in the files that were asked for, and where all of it lies. */
import { readFile, writeFile } from 'node:fs/promises'
import { LoopError } from '../../lib/loop/errors.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { printable } from '../../lib/loop/redact.ts'
import { renderText, type Style } from '../../lib/loop/report-text.ts'
import type { LocalLoop } from '../../lib/local/local-loop.ts'
import { writeRunFolder, type RunFiles } from '../../lib/local/run-folder.ts'
import type { Format, Outputs } from './output.ts'
import { commandOn } from './command-name.ts'
import { paintFor, type Screen } from './paint.ts'
import { howToTake } from './take.ts'

export const STYLES = { good: 'green', bad: 'red', warn: 'yellow', dim: 'dim', bold: 'bold' } as const satisfies Record<Style, string>

export interface ReportOptions {
  outputs: Outputs
  stdout: Screen
  stderr: Screen
  /** Each finding with its history. */
  history?: boolean
  quiet?: boolean
}

/** Where the files are, how to take the fixes, and how to answer. */
const lastLines = async (run: RunItem, { paths, report }: RunFiles, dataFolder: string): Promise<string[]> => {
  const lines = ['', `Report: ${paths.md}`, `        ${paths.json}`, `        ${paths.sarif}`]
  if (run.status === 'parked')
    lines.push(
      '',
      'It waits for a decision: --approve, --fix ID…, --skip or --abort, as in',
      `  ${commandOn(dataFolder, `decide ${run.runId} --approve`)}`,
      'Look at it first:',
      `  ${commandOn(dataFolder, `show ${run.runId}`)}`,
      '',
    )
  if (!report.fixes) return [...lines, 'No fix was committed, so there is no patch and no branch.']
  if (paths.patch) lines.push(`Patch:  ${paths.patch}`)
  const take = await howToTake(run, report.fixes.branch, paths.patch)
  return take ? [...lines, `Take the fixes: ${printable(take)}`] : lines
}

/** The text report, with real paths in place of artifact keys, and the lines that say where everything is. */
const textReport = async (
  run: RunItem,
  files: RunFiles,
  options: { screen: Screen; history: boolean; dataFolder: string },
): Promise<string> => {
  const paint = paintFor(options.screen)
  const shown = { ...files.report, fixes: files.report.fixes && { ...files.report.fixes, branch: null, patch: null } }
  const text = renderText(shown, { paint: (style, part) => paint(STYLES[style], part), history: options.history })
  return `${text.trimEnd()}\n${(await lastLines(run, files, options.dataFolder)).join('\n')}\n`
}

const renderFormat = async (
  format: Format,
  run: RunItem,
  files: RunFiles,
  screen: Screen,
  history: boolean,
  dataFolder: string,
): Promise<string> => {
  if (format === 'text') return textReport(run, files, { screen, history, dataFolder })
  // Without a fix commit the patch is an empty one.
  const path = files.paths[format === 'markdown' ? 'md' : format]
  return path === null ? '' : readFile(path, 'utf8')
}

/** Writes the run's folder, the files asked for and stdout. With another format than text on stdout, the last lines go to stderr. */
export const printReport = async (loop: LocalLoop, run: RunItem, options: ReportOptions): Promise<void> => {
  const files = await writeRunFolder(loop.ports, loop.folder.path, run)
  const history = options.history ?? false
  const dataFolder = loop.folder.path
  for (const { format, path } of options.outputs.files) {
    const text = await renderFormat(format, run, files, { write: () => true }, history, dataFolder)
    try {
      await writeFile(path, text)
    } catch (cause) {
      throw new LoopError(
        'BadRequest',
        `The report could not be written to ${path}: ${cause instanceof Error ? cause.message : ''}`,
        {},
        { cause },
      )
    }
  }
  options.stdout.write(await renderFormat(options.outputs.stdout, run, files, options.stdout, history, dataFolder))
  if (options.outputs.stdout === 'text' || options.quiet) return
  options.stderr.write(`${(await lastLines(run, files, dataFolder)).join('\n').trim()}\n`)
}
