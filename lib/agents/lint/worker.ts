/** Entry of the worker thread: lints one file a message. Its environment is empty; it reads and writes nothing. */
import { parentPort } from 'node:worker_threads'
import type { Kind } from './kinds.ts'
import type { RawFinding } from './rule.ts'

export interface LintRequest {
  id: number
  kind: Kind
  text: string
}
export type LintReply = { id: number; findings: RawFinding[] } | { id: number; failed: string }

/** Linters are loaded when the first file of theirs comes. */
const lint = async ({ kind, text }: LintRequest): Promise<RawFinding[]> =>
  kind === 'python' ? (await import('./ruff.ts')).lintPython(text) : (await import('./eslint.ts')).lintScript(kind, text)

/** The first line, cut: what follows may quote the file. */
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n', 1).join('').slice(0, 200)

parentPort?.on('message', (request: LintRequest) => {
  lint(request).then(
    (findings) => parentPort?.postMessage({ id: request.id, findings } satisfies LintReply, []),
    (error: unknown) => parentPort?.postMessage({ id: request.id, failed: reason(error) } satisfies LintReply, []),
  )
})
