/** A tool of the agent: what the model is told of it, and what it does with checked input. */
import * as z from 'zod'
import type { AgentTurn } from '../../loop/agent.ts'
import { LoopError } from '../../loop/errors.ts'

/** What the model is told of a call. */
export interface ToolResult {
  id: string
  ok: boolean
  text: string
}

export interface Tool {
  name: string
  description: string
  schema: Record<string, unknown>
  /** The fields of the input, for those who describe them themselves. */
  fields: Record<string, z.ZodType>
  run(input: unknown, turn: AgentTurn): Promise<string>
}

/** The model is told why, and goes on. */
export class ToolRefusal extends Error {}

const MOST_TEXT = 100_000

export const tool = <Fields extends Record<string, z.ZodType>>(
  name: string,
  description: string,
  input: z.ZodObject<Fields, z.core.$strict>,
  run: (input: z.infer<z.ZodObject<Fields, z.core.$strict>>, turn: AgentTurn) => Promise<string>,
): Tool => {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return {
    name,
    description,
    schema,
    fields: input.shape,
    run: async (given, turn) => {
      const parsed = input.safeParse(given)
      if (!parsed.success) throw new ToolRefusal(`the input does not fit: ${z.prettifyError(parsed.error)}`)
      return run(parsed.data, turn)
    },
  }
}

/** Rows of the catalogue that are about what the tool was asked for, and not about the turn. */
const REFUSALS: readonly string[] = ['OutsideWorkspace', 'EditRefused', 'ChangeTooLarge']

const refusal = (error: unknown): string | null => {
  if (error instanceof ToolRefusal) return error.message
  return error instanceof LoopError && REFUSALS.includes(error.name) ? error.message : null
}

/** The latest call in each workspace. */
const latest = new WeakMap<AgentTurn['files'], Promise<unknown>>()

/**
 * Runs a call of the model's, after those that were made before it: two edits of a file at once would be one. What a tool refuses is a
 * result like any other; what breaks in it is thrown, and so is an abort of the turn.
 */
export const runTool = (
  tools: readonly Tool[],
  call: { id: string; name: string; input: unknown },
  turn: AgentTurn,
): Promise<ToolResult> => {
  const before = latest.get(turn.files) ?? Promise.resolve()
  const result = before.then(() => runOne(tools, call, turn))
  latest.set(
    turn.files,
    result.catch(() => undefined),
  )
  return result
}

const runOne = async (tools: readonly Tool[], call: { id: string; name: string; input: unknown }, turn: AgentTurn): Promise<ToolResult> => {
  const named = tools.find(({ name }) => name === call.name)
  turn.signal.throwIfAborted()
  try {
    if (!named) throw new ToolRefusal(`there is no tool of that name; there are ${tools.map(({ name }) => name).join(', ')}`)
    const text = await named.run(call.input, turn)
    return { id: call.id, ok: true, text: text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}\n… and more` : text || '(nothing)' }
  } catch (error) {
    const why = refusal(error)
    if (why === null) throw error
    return { id: call.id, ok: false, text: why }
  }
}
