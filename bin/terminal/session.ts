/** One command over the data folder: opens it, shows progress, and lets go in order on Ctrl-C, or at once on a second one. */
import { dataFolderPath } from '../../lib/local/data-path.ts'
import { isDataFolder, openDataFolder, ownDataFolder } from '../../lib/local/data-folder.ts'
import { openLoop, type LocalLoop } from '../../lib/local/local-loop.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { loadRecord } from '../../lib/loop/run-record.ts'
import { runState } from '../../lib/loop/run.ts'
import { commandName } from './command-name.ts'
import { EXIT } from './exit.ts'
import { person } from './person.ts'
import { Progress, type TurnFacts } from './progress.ts'

export interface SessionOptions {
  data?: string | undefined
  /** true: this process has to own the folder (DataFolderBusy otherwise). */
  own: boolean
  /** true: a data folder that is not there is not made, for nothing can be in it (RunNotFound). */
  existing?: boolean
  waits?: boolean
  quiet?: boolean | undefined
  scenario?: string | undefined
  agents?: readonly string[] | undefined
}

export interface Session {
  loop: LocalLoop
  progress: Progress
  by: string
}

/** Two signals this close together are one Ctrl-C that came twice. */
const ONE_PRESS_MS = 800

/** Facts of the turn that a state's output tells of. */
const factsOf = async (loop: LocalLoop, output: unknown): Promise<TurnFacts | null> => {
  const state = runState.safeParse(output)
  if (!state.success || !state.data.record) return null
  const turn = (await loadRecord(loop.ports, state.data)).turns.at(-1)
  return turn ? { round: turn.round, mode: turn.mode, raised: turn.raised, fixed: turn.fixed, open: turn.open } : null
}

/** Stops the engine on the first signal; the second, or one while nothing runs, ends the process at once. */
const onSignals = (loop: LocalLoop, progress: Progress): (() => void) => {
  let first = 0
  const handle = (): void => {
    if (first && Date.now() - first < ONE_PRESS_MS) return
    if (first || loop.engine.names().length === 0) process.exit(EXIT.interrupted)
    first = Date.now()
    progress.line('Interrupted: letting go of the turn. Once more to end at once.')
    void loop.engine.interrupt()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, handle)
  return () => {
    for (const signal of signals) process.off(signal, handle)
  }
}

export const withSession = async <T>(options: SessionOptions, work: (session: Session) => Promise<T>): Promise<T> => {
  const path = dataFolderPath(options.data)
  if (options.existing && !(await isDataFolder(path))) {
    const remedy = `Start one with \`${commandName()} run\`, or name another folder with \`--data\`.`
    throw new LoopError('RunNotFound', `There is no run in ${path}.`, { path, remedy })
  }
  const folder = await (options.own ? ownDataFolder(path) : openDataFolder(path))
  let opened: LocalLoop | null = null
  try {
    const screen = options.quiet ? { write: () => true } : process.stderr
    const progress = new Progress({ screen, factsOf: async (_state, output) => (opened ? factsOf(opened, output) : null) })
    const loop = await openLoop(folder, {
      waits: options.waits ?? false,
      onEvent: progress.onEvent,
      onLog: (level, message) => progress.line(`  ${level}: ${message}`),
      scenario: options.scenario,
      agents: options.agents,
    })
    opened = loop
    const release = onSignals(loop, progress)
    try {
      return await work({ loop, progress, by: person() })
    } finally {
      await loop.engine.interrupt()
      release()
      await progress.stop()
    }
  } finally {
    opened?.close()
    await folder.close()
  }
}
