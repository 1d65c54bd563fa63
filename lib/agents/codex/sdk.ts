/** What of the Codex SDK is used. The package is nobody's dependency, so that this stands in for its types; a test holds it against them. */

export interface CodexEvent {
  type: string
  /** Of `thread.started`. */
  thread_id?: string
  /** Of `item.completed`. */
  item?: { type: string; text?: string }
  /** Of `turn.failed`. */
  error?: { message: string }
}

export interface CodexThread {
  runStreamed(input: string, options: { outputSchema: unknown; signal: AbortSignal }): Promise<{ events: AsyncIterable<CodexEvent> }>
}

export type ConfigValue = string | number | boolean | { [key: string]: ConfigValue }

export interface ThreadOptions {
  model: string
  sandboxMode: 'read-only'
  workingDirectory: string
  skipGitRepoCheck: true
  webSearchMode: 'disabled'
  approvalPolicy: 'never'
  modelReasoningEffort?: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
}

export interface CodexSdk {
  Codex: new (options: { env: Record<string, string>; config: { [key: string]: ConfigValue } }) => {
    startThread(options: ThreadOptions): CodexThread
    resumeThread(id: string, options: ThreadOptions): CodexThread
  }
}
