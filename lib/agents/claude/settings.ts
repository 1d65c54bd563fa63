/** Settings of the agent: those of the deployment, never of a repository. They come from the environment. */
import * as z from 'zod'
import { ENV } from '../../names.ts'
import { providerKey } from '../provider-key.ts'
import { readSettings } from '../settings.ts'

const count = z.coerce.number<string>().int()

const settings = z.object({
  model: z.string().min(1).max(2048),
  /** Who serves the model. */
  provider: z.enum(['anthropic', 'bedrock']).default('anthropic'),
  /** Of Bedrock; null: that of the surroundings. */
  region: z.string().min(1).nullable().default(null),
  /** null: the model's own. */
  effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullable().default(null),
  /** Tokens of one reply; null: as the tool has it. */
  maxTokens: count.min(1000).nullable().default(null),
  /** Tokens that the model can be given; a turn plans to stay well below. */
  contextTokens: count.min(20_000).default(200_000),
})
export type ClaudeSettings = z.infer<typeof settings>

const VARIABLES = {
  model: ENV.claudeModel,
  provider: ENV.claudeProvider,
  region: ENV.claudeRegion,
  effort: ENV.claudeEffort,
  maxTokens: ENV.claudeMaxTokens,
  contextTokens: ENV.claudeContextTokens,
} as const

/** Throws an Error that names each variable that is missing or wrong. */
export const readClaudeSettings = (environment: Readonly<Record<string, string | undefined>>): ClaudeSettings =>
  readSettings(settings, VARIABLES, environment)

/** Gives the key of Anthropic's own API; Bedrock needs none. Throws as `providerKey` does. */
export const claudeKey = (
  environment: Parameters<typeof providerKey>[0],
  { provider }: Pick<ClaudeSettings, 'provider'>,
): (() => Promise<string>) =>
  provider === 'bedrock'
    ? () => Promise.resolve('')
    : providerKey(environment, { secret: ENV.claudeKeySecret, local: ['ANTHROPIC_API_KEY'] })
