/** What an agent may do that asks: the tools that it was given, and files of the repository by its own. Nothing is ever executed. */
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { TurnRole } from '../../names.ts'
import { SERVER, toolNames } from './tool-server.ts'

/** What is known of a call that permission is asked for: the request itself, and what was said of the call before. */
export interface AskedCall {
  kind: string | null
  /** As agents name it to people, the first name first. */
  titles: readonly string[]
  /** Absolute. */
  paths: readonly string[]
}

/** Forms in which agents name a tool of an MCP server. A title may go on with what a model wrote, so only its beginning counts. */
const namesTool = (title: string, tool: string): boolean =>
  [`mcp__${SERVER}__${tool}`, `${SERVER}__${tool}`, `${SERVER}/${tool}`, `${SERVER}.${tool}`, `Tool: ${SERVER}/${tool}`].some(
    (form) => title === form || new RegExp(`^${form.replaceAll('.', '\\.')}[^A-Za-z0-9_]`).test(title),
  ) || title.startsWith(`${tool} (${SERVER} MCP Server)`)

const NEVER = ['execute', 'fetch', 'switch_mode', 'move']
const READS = ['read', 'search']
const EDITS = ['edit', 'delete']

/** Whether a call may be made. `isInside` tells paths of the workspace from others. */
export const isAllowed = (role: TurnRole, call: AskedCall, isInside: (path: string) => boolean): boolean => {
  const { kind, titles, paths } = call
  if (kind !== null && NEVER.includes(kind)) return false
  if (toolNames(role).some((tool) => titles.some((title) => namesTool(title, tool)))) return true
  const isAboutFiles = paths.length > 0 && paths.every(isInside)
  return isAboutFiles && kind !== null && (READS.includes(kind) || (role === 'fixer' && EDITS.includes(kind)))
}

/** The answer in the agent's own options: for this once where it can be had. */
export const permissionAnswer = (allowed: boolean, options: RequestPermissionRequest['options']): RequestPermissionResponse => {
  const kinds = allowed ? (['allow_once', 'allow_always'] as const) : (['reject_once', 'reject_always'] as const)
  const option = kinds.map((kind) => options.find((one) => one.kind === kind)).find((one) => one !== undefined)
  return { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } }
}
