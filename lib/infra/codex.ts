/** The agent `codex` of a deployment: its settings, and the environment of the functions that take turns. */
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import * as z from 'zod'
import type { ENV } from '../names.ts'
import { secretArn } from './secret-arn.ts'

const price = z.number().min(0)

export const codexSettings = z.strictObject({
  model: z.string().min(1).max(256).describe('name of the model'),
  keySecret: secretArn.describe('full ARN of the secret that holds the key of its provider; the functions that take turns may read it'),
  baseUrl: z
    .url({ protocol: /^https$/ })
    .optional()
    .describe('where the Responses API is, without `/responses`; absent: OpenAI'),
  effort: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional().describe('as docs/agents.md says'),
  contextTokens: z.int().min(20_000).optional().describe('as docs/agents.md says'),
  prices: z
    .strictObject({ input: price, output: price, cacheRead: price, cacheWrite: price })
    .optional()
    .describe('US dollars for a million tokens; absent: dollars are not known, and no bound on dollars holds'),
})
type CodexSettings = z.infer<typeof codexSettings>

export const codexKeyStatement = ({ keySecret }: CodexSettings): PolicyStatement =>
  new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [keySecret] })

export const codexEnvironment = (settings: CodexSettings | undefined): Partial<Record<keyof typeof ENV, string | undefined>> => {
  const { model, keySecret, baseUrl, effort, contextTokens, prices } = settings ?? {}
  return {
    codexModel: model,
    codexKeySecret: keySecret,
    codexBaseUrl: baseUrl,
    codexEffort: effort,
    codexContextTokens: contextTokens === undefined ? undefined : String(contextTokens),
    codexPrices: prices && [prices.input, prices.output, prices.cacheRead, prices.cacheWrite].join('/'),
  }
}
