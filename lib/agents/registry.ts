/** The agents that can run here, by name. */
import type { Agent, Agents } from '../loop/agent.ts'
import { LoopError } from '../loop/errors.ts'
import { ENV } from '../names.ts'
import type { CodexSdk } from './codex/sdk.ts'
import { findPackage, loadPackage } from './optional-package.ts'
import { providerKey } from './provider-key.ts'

interface Known {
  /** Throws where what it needs is missing. */
  make: () => Promise<Agent>
  /** What to do then. */
  remedy: string
}

export interface AgentOptions {
  /** Scenario file of the scripted agent, which is there only with one. */
  scenario?: string | undefined
}

const knownAgents = ({ scenario }: AgentOptions): ReadonlyMap<string, Known> =>
  new Map([
    [
      'lint',
      {
        make: async () => (await import('./lint/agent.ts')).createLintAgent(),
        remedy: 'its linters come with reviewloop: run `npm install` again',
      },
    ],
    ['bedrock', { make: bedrock, remedy: `its settings are in the environment, ${ENV.bedrockModel} at least: see docs/agents.md` }],
    ['claude', { make: claude, remedy: `it needs its package, a model in ${ENV.claudeModel} and a key: see docs/agents.md` }],
    [
      'codex',
      {
        make: codex,
        remedy: `it needs its package, a model in ${ENV.codexModel} and a key: see docs/agents.md`,
      },
    ],
    ['acp', { make: acp, remedy: `${ENV.acpCommand} says how the agent is started: see docs/agents.md` }],
    ['scripted', { make: () => scripted(scenario), remedy: 'it plays a scenario file: name one' }],
  ])

/** Those that can be done without: `lint` serves where there is none of them. */
export const optionalAgents = (): string[] => [...knownAgents({}).keys()].filter((name) => name !== 'lint' && name !== 'scripted')

const bedrock = async (): Promise<Agent> => {
  const [{ createBedrockAgent }, { readBedrockSettings }] = await Promise.all([
    import('./bedrock/agent.ts'),
    import('./bedrock/settings.ts'),
  ])
  return createBedrockAgent(readBedrockSettings(process.env))
}

const codex = async (): Promise<Agent> => {
  const name = '@openai/codex-sdk'
  const { version } = await findPackage('codex', name)
  const [{ createCodexAgent }, { readCodexSettings }, { codexKey }] = await Promise.all([
    import('./codex/agent.ts'),
    import('./codex/settings.ts'),
    import('./codex/key.ts'),
  ])
  const settings = readCodexSettings(process.env)
  return createCodexAgent(settings, { version, key: codexKey(process.env), sdk: await loadPackage<CodexSdk>('codex', name) })
}

const claude = async (): Promise<Agent> => {
  const [{ createClaudeAgent }, { claudeKey, readClaudeSettings }, { loadClaudeSdk }] = await Promise.all([
    import('./claude/agent.ts'),
    import('./claude/settings.ts'),
    import('./claude/sdk.ts'),
  ])
  const sdk = await loadClaudeSdk()
  const settings = readClaudeSettings(process.env)
  return createClaudeAgent(settings, sdk, { key: claudeKey(process.env, settings) })
}

const acp = async (): Promise<Agent> => {
  const [{ createAcpAgent }, { readAcpSettings }] = await Promise.all([import('./acp/agent.ts'), import('./acp/settings.ts')])
  const settings = readAcpSettings(process.env)
  return createAcpAgent(
    settings,
    settings.key === null ? {} : { key: providerKey(process.env, { secret: ENV.acpKeySecret, local: [settings.key] }) },
  )
}

const scripted = async (file: string | undefined): Promise<Agent> => {
  if (file === undefined) throw new Error('no scenario file is named')
  const [{ createScriptedAgent }, { readScenario }] = await Promise.all([import('./scripted/agent.ts'), import('./scripted/scenario.ts')])
  return createScriptedAgent(await readScenario(file), file)
}

/**
 * Agents by name. Each is made once. `find` throws `AgentUnavailable`, saying of each name why it is not there and what to do, and
 * `BadSettings` where the scenario file is not valid.
 */
export const createAgents = (options: AgentOptions = {}): Agents => {
  const known = knownAgents(options)
  const made = new Map<string, Promise<Agent>>()

  const agentOf = async (name: string): Promise<Agent | string> => {
    const entry = known.get(name)
    if (!entry) return `${name}: there is no agent of that name; there are ${[...known.keys()].join(', ')}`
    const agent = made.get(name) ?? entry.make()
    made.set(name, agent)
    try {
      return await agent
    } catch (error) {
      made.delete(name)
      if (error instanceof LoopError) throw error
      return `${name}: ${error instanceof Error ? error.message : String(error)} (${entry.remedy})`
    }
  }

  return {
    find: async (order) => {
      const found = await Promise.all([...new Set(order)].map(agentOf))
      const [first, ...rest] = found.filter((one) => typeof one !== 'string')
      if (first) return [first, ...rest]
      const reasons = found.filter((one) => typeof one === 'string')
      throw new LoopError('AgentUnavailable', `No agent can run here. ${reasons.join('; ') || 'No agent is named'}.`, { order, reasons })
    },
  }
}
