/** What the engine tells of an execution while it runs, for progress displays and tests. */
export type EngineEvent = { execution: string; /** ms since 1970 */ at: number } & (
  | { kind: 'entered'; state: string; input: unknown }
  | { kind: 'left'; state: string; output: unknown; milliseconds: number }
  | { kind: 'failed'; state: string; error: string; cause: string }
  | { kind: 'retried'; state: string; error: string; attempt: number }
  | { kind: 'caught'; state: string; error: string }
  /** A message of the handler, or of the agent in it. */
  | { kind: 'progress'; state: string; message: string }
)

type Log = {
  type: string
  timestamp: number
  state?: { name: string; output?: unknown; input?: unknown }
  retry?: { attempt: number }
  Error?: string
  Cause?: unknown
}

/** Translates the interpreter's log of one execution. It remembers when a state was entered and why it was tried again. */
export const translator = (execution: string): ((log: Log) => EngineEvent | null) => {
  let enteredAt = 0
  let error = ''
  return (log) => {
    if (!log.state) return null
    const base = { execution, at: log.timestamp, state: log.state.name }
    switch (log.type) {
      case 'StateEntered':
        enteredAt = log.timestamp
        return { ...base, kind: 'entered', input: log.state.input }
      case 'StateExited':
        return { ...base, kind: 'left', output: log.state.output, milliseconds: log.timestamp - enteredAt }
      case 'StateFailed':
        error = log.Error ?? ''
        return { ...base, kind: 'failed', error, cause: causeText(log.Cause) }
      case 'StateRetried':
        return { ...base, kind: 'retried', error, attempt: log.retry?.attempt ?? 0 }
      case 'StateCaught':
        return { ...base, kind: 'caught', error }
      default:
        return null
    }
  }
}

/** The message in a cause, which is a JSON string where a task failed. */
export const causeText = (cause: unknown): string => {
  if (typeof cause !== 'string') return cause instanceof Error ? cause.message : ''
  try {
    const parsed: unknown = JSON.parse(cause)
    if (parsed !== null && typeof parsed === 'object' && 'errorMessage' in parsed) return String(parsed.errorMessage)
  } catch {
    // a plain message
  }
  return cause
}
