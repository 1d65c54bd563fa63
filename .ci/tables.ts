/** Tables of the documentation that are made from code. */
import { acpCapabilities } from '../lib/agents/acp/agent.ts'
import { createBedrockAgent } from '../lib/agents/bedrock/agent.ts'
import { readBedrockSettings } from '../lib/agents/bedrock/settings.ts'
import { CLAUDE } from '../lib/agents/claude/agent.ts'
import { createCodexAgent } from '../lib/agents/codex/agent.ts'
import { readCodexSettings } from '../lib/agents/codex/settings.ts'
import { createLintAgent } from '../lib/agents/lint/agent.ts'
import { loopDefinition } from '../lib/infra/loop-definition.ts'
import { settingsKeys } from '../lib/infra/settings-keys.ts'
import { policy } from '../lib/loop/policy.ts'
import { allowedAt, type JsonSchema } from '../lib/loop/settings-schema.ts'
import { settingsJsonSchema } from '../lib/loop/settings.ts'
import type { Agent, Capabilities } from '../lib/loop/agent.ts'
import { API_ROUTES, type ApiRoute, ENV, placeholderArn, RETRIERS } from '../lib/names.ts'
import { operationOf } from '../lib/loop/openapi-operations.ts'
import { code, table } from './table.ts'

/** Every key of the settings file: default, what is allowed, what it means. */
export const settingsTable = (): string => {
  const schema = settingsJsonSchema()
  const rowsOf = (part: JsonSchema, defaults: unknown, path: readonly string[]): string[][] =>
    Object.entries(part.properties ?? {}).flatMap(([key, about]) => {
      const value = (defaults as Record<string, unknown>)[key]
      if (about.properties) return rowsOf(about, value, [...path, key])
      const fallback = value === undefined ? 'that of the deployment' : code(JSON.stringify(value))
      return [[code([...path, key].join('.')), fallback, allowedAt(schema, [...path, key]), about.description ?? '']]
    })
  return table(['Key', 'Default', 'Allowed', 'Meaning'], rowsOf(schema, policy.parse({}), []))
}

/** Every key of the deployment settings. */
export const deploymentTable = (): string =>
  table(
    ['Key', 'Default', 'It holds'],
    settingsKeys().map(({ key, fallbacks, required, meaning }) => [
      code(key),
      required ? 'needed' : fallbacks.map(code).join(' or '),
      meaning,
    ]),
  )

/** Every state: kind, time limit, what follows, what is caught. */
export const stateTable = (): string =>
  table(
    ['State', 'Kind', 'Time limit', 'Then', 'Caught'],
    Object.entries(loopDefinition(placeholderArn).States).map(([name, state]) => [
      code(name),
      state.Type,
      state.TimeoutSecondsPath ? code(state.TimeoutSecondsPath) : state.TimeoutSeconds ? `${state.TimeoutSeconds} s` : '',
      state.Next ? code(state.Next) : state.Type === 'Choice' ? 'what `$.next` says; anything else: `RecordFailure`' : 'the end',
      (state.Catch ?? []).map(({ ErrorEquals, Next }) => `${ErrorEquals.map(code).join(', ')} → ${code(Next)}`).join('; '),
    ]),
  )

/** How each group of errors is retried, by every task. */
export const retryTable = (): string =>
  table(
    ['Errors', 'Tries again', 'First wait', 'Then each', 'At most'],
    RETRIERS.map(({ errors, attempts, seconds, rate, longest }) => [
      errors.map(code).join(', '),
      String(attempts),
      `${seconds} s`,
      `× ${rate}`,
      `${longest} s`,
    ]),
  )

/** Every route of the API: who may call it, and what it does. */
export const routesTable = (): string =>
  table(
    ['Route', 'Open to', 'Does'],
    (Object.keys(API_ROUTES) as ApiRoute[]).map((route) => {
      const { open } = API_ROUTES[route]
      return [
        code(route),
        open === 'iam' ? 'callers with AWS credentials' : `jobs of ${open === 'github' ? 'GitHub' : 'GitLab'}`,
        operationOf(route).summary,
      ]
    }),
  )

const CAPABILITIES: Record<keyof Capabilities, string> = {
  edits: 'fixes',
  resume: 'resumes a session',
  ownIds: 'ids are ours',
  checkpoint: 'stops and goes on in a turn',
  structuredOutput: "answers by the provider's schema",
}

const notHere = (): never => {
  throw new Error('no agent is run here')
}

/** The table asks what an agent can do, and none to do it. */
class Unused {
  startThread = notHere
  resumeThread = notHere
}

/** The agents that a review may be left to, made with what they need at least. */
const agents = (): Pick<Agent, 'id' | 'capabilities'>[] => [
  createLintAgent(),
  createBedrockAgent(readBedrockSettings({ [ENV.bedrockModel]: 'model' })),
  CLAUDE,
  createCodexAgent(readCodexSettings({ [ENV.codexModel]: 'model' }), { sdk: { Codex: Unused }, version: '', key: async () => '' }),
]

/** What each agent can do. What `acp` can depends on the agent behind it. */
export const agentsTable = (): string => {
  const able = Object.keys(CAPABILITIES) as (keyof Capabilities)[]
  const word = (can: boolean): string => (can ? 'yes' : 'no')
  const [best, least] = [acpCapabilities(true), acpCapabilities(false)]
  return table(
    ['Agent', ...able.map((name) => CAPABILITIES[name])],
    [
      ...agents().map(({ id, capabilities }) => [code(id), ...able.map((name) => word(capabilities[name]))]),
      [code('acp'), ...able.map((name) => (best[name] === least[name] ? word(best[name]) : 'where its agent can'))],
    ],
  )
}
