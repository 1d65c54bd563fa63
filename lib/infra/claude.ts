/** The agent `claude` of a deployment: its settings, what its functions may reach, and their environment. */
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Construct } from 'constructs'
import * as z from 'zod'
import type { ENV } from '../names.ts'
import { modelFields, modelNeedsResources, modelStatement } from './bedrock.ts'
import { secretArn } from './secret-arn.ts'

const ONLY_BEDROCK = ['region', 'modelRegions', 'resources'] as const

export const claudeSettings = z
  .strictObject({
    ...modelFields,
    model: modelFields.model.describe('id of the model; with Bedrock as `bedrock.model`'),
    provider: z.enum(['anthropic', 'bedrock']).default('anthropic').describe('who serves the model'),
    keySecret: secretArn
      .optional()
      .describe('full ARN of the secret that holds the API key; the functions that take turns read it, and no other'),
    effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional().describe('as docs/agents.md says'),
    maxTokens: z.int().min(1000).optional().describe('as docs/agents.md says'),
    contextTokens: z.int().min(20_000).optional().describe('as docs/agents.md says'),
  })
  .refine(({ provider, keySecret }) => (provider === 'anthropic') === (keySecret !== undefined), {
    path: ['keySecret'],
    message: "Anthropic's own API needs the secret that holds the key, and Bedrock none",
  })
  .refine((given) => given.provider === 'bedrock' || ONLY_BEDROCK.every((key) => given[key] === undefined), {
    path: ['provider'],
    message: `${ONLY_BEDROCK.join(', ')} say what of Bedrock is reached: with provider bedrock alone`,
  })
  .refine(({ provider, ...model }) => provider !== 'bedrock' || !modelNeedsResources(model), {
    path: ['resources'],
    message: 'a model that is named by its ARN needs the list of what may be invoked: the ARN itself and those of the models behind it',
  })
type ClaudeSettings = z.infer<typeof claudeSettings>

/** The tool takes its answers as a stream. */
export const claudeStatement = (scope: Construct, settings: ClaudeSettings): PolicyStatement =>
  settings.keySecret === undefined
    ? modelStatement(scope, settings, ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream'])
    : new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [settings.keySecret] })

export const claudeEnvironment = (settings: ClaudeSettings | undefined): Partial<Record<keyof typeof ENV, string | undefined>> => ({
  claudeModel: settings?.model,
  claudeProvider: settings?.provider,
  claudeRegion: settings?.region,
  claudeKeySecret: settings?.keySecret,
  claudeEffort: settings?.effort,
  claudeMaxTokens: settings?.maxTokens?.toString(),
  claudeContextTokens: settings?.contextTokens?.toString(),
})
