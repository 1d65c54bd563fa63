/** What we use of the Claude Agent SDK. A test holds it against the types that the package itself has. */
import type * as z from 'zod'
import { loadPackage } from '../optional-package.ts'

/** One line of the SDK's own transcript. We look at none of it but its uuid. */
export interface StoreEntry {
  type: string
  uuid?: string
  [key: string]: unknown
}

interface StoreKey {
  projectKey: string
  sessionId: string
  /** Of a helper's transcript; absent for the main one. */
  subpath?: string
}

export interface SessionStore {
  append: (key: StoreKey, entries: StoreEntry[]) => Promise<void>
  load: (key: StoreKey) => Promise<StoreEntry[] | null>
}

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
  settings: Record<string, unknown>
  skills: string[]
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
  stderr: (text: string) => void
}

export interface McpTool {
  name: string
  description: string
  /** Fields of a zod object. */
  inputSchema: Record<string, z.ZodType>
  handler: (input: unknown) => Promise<{ content: { type: 'text'; text: string }[]; isError: boolean }>
}

/** `Server` is the SDK's own, and opaque to us. */
export interface ClaudeSdk<Server = unknown> {
  /** Throws, while it is read, what kept the program from running or ended it. */
  query(given: { prompt: string; options: ClaudeOptions<Server> }): AsyncIterable<unknown>
  /** A server that runs in this process. */
  createSdkMcpServer(options: { name: string; version: string; tools: McpTool[]; alwaysLoad: boolean }): Server
}

export const loadClaudeSdk = (): Promise<ClaudeSdk> => loadPackage<ClaudeSdk>('claude', '@anthropic-ai/claude-agent-sdk')
