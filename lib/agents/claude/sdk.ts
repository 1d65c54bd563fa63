/** What we use of the Claude Agent SDK. A test holds it against the types that the package itself has. */
import type * as z from 'zod'
import { loadPackage, OPTIONAL_PACKAGES } from '../optional-package.ts'
import type { TiedCommand, TiedProcess } from '../tied-process.ts'
import type { Line } from './entries.ts'

const PACKAGE = '@anthropic-ai/claude-agent-sdk'
export const SDK_VERSION = OPTIONAL_PACKAGES.claude[PACKAGE]

interface StoreKey {
  projectKey: string
  sessionId: string
  /** Of a helper's transcript; absent for the main one. */
  subpath?: string
}

export interface SessionStore {
  append: (key: StoreKey, lines: Line[]) => Promise<void>
  load: (key: StoreKey) => Promise<Line[] | null>
}

/** Called after each tool's result has been taken down. `continue: false` ends the call of the SDK there. */
export type AfterTool = (
  input: unknown,
  toolUseId: string | undefined,
) => Promise<{ continue: true } | { continue: false; stopReason: string }>

export interface ClaudeOptions<Server = unknown> {
  abortController: AbortController
  cwd: string
  env: Record<string, string>
  model: string
  effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  systemPrompt: string
  /** Built-in tools. */
  tools: string[]
  allowedTools: string[]
  permissionMode: 'dontAsk'
  mcpServers: Record<string, Server>
  strictMcpConfig: boolean
  settingSources: []
  skills: string[]
  hooks: { PostToolUse: { matcher: string; hooks: AfterTool[] }[] }
  /** The prompt is data: no mention of a file in it is followed. */
  verbatimPrompts: boolean
  outputFormat: { type: 'json_schema'; schema: Record<string, unknown> }
  maxTurns: number
  maxBudgetUsd: number
  /** A new session's id; a UUID. */
  sessionId?: string
  resume?: string
  sessionStore: SessionStore
  sessionStoreFlush: 'eager'
  spawnClaudeCodeProcess: (command: TiedCommand) => TiedProcess
}

export interface McpTool {
  name: string
  description: string
  inputSchema: Record<string, z.ZodType>
  _meta: Record<string, unknown>
  handler: (input: unknown) => Promise<{ content: { type: 'text'; text: string }[]; isError: boolean }>
}

/** `Server` is the SDK's own, and opaque to us. */
export interface ClaudeSdk<Server = unknown> {
  /** Throws, while it is read, what kept the program from running or ended it. */
  query(given: { prompt: string | AsyncIterable<never>; options: ClaudeOptions<Server> }): AsyncIterable<unknown>
  /** A server that runs in this process. */
  createSdkMcpServer(options: { name: string; version: string; tools: McpTool[]; alwaysLoad: boolean }): Server
}

export const loadClaudeSdk = (): Promise<ClaudeSdk> => loadPackage<ClaudeSdk>('claude', PACKAGE)
