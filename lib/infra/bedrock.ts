/** The agent `bedrock` of a deployment: its settings, what its functions may call, and their environment. */
import { Stack } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Construct } from 'constructs'
import * as z from 'zod'
import type { ENV } from '../names.ts'

const region = z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'expected the name of a region, such as eu-central-1')
const price = z.number().min(0)

/** Which model, and where. */
export const modelFields = {
  model: z
    .string()
    .regex(/^[\w.:/-]{1,2048}$/, 'expected the id or the ARN of a model or an inference profile')
    .describe('id or ARN of the model or inference profile; the functions that take turns may invoke it'),
  region: region.optional().describe('region that is called; absent: that of the stack'),
  modelRegions: z
    .array(region)
    .min(1)
    .optional()
    .describe('regions to which the inference profile sends requests; absent: `bedrock.region`'),
  resources: z
    .array(z.string().regex(/^arn:aws[a-z-]*:bedrock:[^*]*$/, 'expected an ARN of Bedrock without a wildcard'))
    .min(1)
    .optional()
    .describe('ARNs that may be invoked, instead of those that follow from the above; needed where `model` is an ARN'),
}

type Model = { [key in keyof typeof modelFields]?: z.infer<(typeof modelFields)[key]> } & { model: string }

/** What stands behind an ARN does not follow from it. */
export const modelNeedsResources = ({ model, resources }: Model): boolean => model.startsWith('arn:') && resources === undefined

export const bedrockSettings = z
  .strictObject({
    ...modelFields,
    effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional().describe('as docs/agents.md says'),
    maxTokens: z.int().min(1000).optional().describe('as docs/agents.md says'),
    contextTokens: z.int().min(20_000).optional().describe('as docs/agents.md says'),
    cache: z.enum(['5m', '1h', 'off']).optional().describe('as docs/agents.md says'),
    strict: z.boolean().optional().describe('as docs/agents.md says'),
    prices: z
      .strictObject({ input: price, output: price, cacheRead: price, cacheWrite: price })
      .optional()
      .describe('US dollars for a million tokens; absent: dollars are not known, and no bound on dollars holds'),
  })
  .refine((model) => !modelNeedsResources(model), {
    path: ['resources'],
    message: 'a model that is named by its ARN needs the list of what may be invoked: the ARN itself and those of the models behind it',
  })
type BedrockSettings = z.infer<typeof bedrockSettings>

/** What an id of a cross-region inference profile begins with: a part of the world, or all of it. */
const PROFILE = /^(us-gov|us|eu|apac|jp|au|ca|global)\./

const invocable = (scope: Construct, { model, region: home, modelRegions, resources }: Model): string[] => {
  if (resources) return resources
  const stack = Stack.of(scope)
  const here = home ?? stack.region
  const modelIn = (place: string, id: string): string =>
    stack.formatArn({ service: 'bedrock', region: place, account: '', resource: 'foundation-model', resourceName: id })
  const [prefix, part] = PROFILE.exec(model) ?? []
  if (prefix === undefined) return [modelIn(here, model)]
  const id = model.slice(prefix.length)
  // The models behind a profile of all the world have an ARN without a region.
  const places = [...new Set([...(modelRegions ?? [here]), ...(part === 'global' ? [''] : [])])]
  return [
    stack.formatArn({ service: 'bedrock', region: here, resource: 'inference-profile', resourceName: model }),
    ...places.map((place) => modelIn(place, id)),
  ]
}

/** Converse is allowed by the right to invoke; nothing of ours streams. */
export const modelStatement = (scope: Construct, model: Model, actions: string[] = ['bedrock:InvokeModel']): PolicyStatement =>
  new PolicyStatement({ actions, resources: invocable(scope, model) })

const text = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value))

export const bedrockEnvironment = (settings: BedrockSettings | undefined): Partial<Record<keyof typeof ENV, string | undefined>> => {
  const { prices, strict } = settings ?? {}
  return {
    bedrockModel: settings?.model,
    bedrockRegion: settings?.region,
    bedrockEffort: settings?.effort,
    bedrockMaxTokens: text(settings?.maxTokens),
    bedrockContextTokens: text(settings?.contextTokens),
    bedrockCache: settings?.cache,
    bedrockStrict: strict === undefined ? undefined : strict ? 'on' : 'off',
    bedrockPrices: prices && [prices.input, prices.output, prices.cacheRead, prices.cacheWrite].join('/'),
  }
}
