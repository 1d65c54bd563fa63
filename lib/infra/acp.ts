/** The agent `acp` of a deployment: which agent of the protocol it is, how it is started, and the environment of the functions that take turns. */
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import * as z from 'zod'
import { ENV } from '../names.ts'
import { secretArn } from './secret-arn.ts'

const variable = z.string().regex(/^(?!REVIEWLOOP_|AWS_)[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable of the agent')
const path = z
  .string()
  .refine((text) => text.split('/').every((segment) => !['', '.', '..'].includes(segment)), 'expected a path below HOME')

export const acpSettings = z.strictObject({
  command: z.array(z.string().min(1)).min(1).describe('program and arguments that start the agent'),
  package: z
    .string()
    .regex(/^(?:@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*@\d+\.\d+\.\d+(?:-[a-z0-9.]+)?$/, 'expected an npm package at an exact version')
    .optional()
    .describe('npm package of the agent, at an exact version, that the image is to have; its programs are found by name'),
  variables: z.record(variable, z.string()).default({}).describe('variables that the agent is given; no secrets'),
  key: variable.optional().describe('the variable in which it looks for the key of its provider'),
  keySecret: secretArn.optional().describe('full ARN of the secret that holds the key; the functions that take turns may read it'),
  state: z.array(path).default([]).describe('where it keeps its sessions, as paths below HOME; with none no session is resumed'),
  files: z.record(path, z.string()).optional().describe('files that it finds in its HOME, by path: its own settings'),
  login: z.string().min(1).optional().describe('as docs/agents.md says'),
  contextTokens: z.int().min(20_000).optional().describe('as docs/agents.md says'),
})
type AcpSettings = z.infer<typeof acpSettings>

export const acpKeyStatements = ({ keySecret }: AcpSettings): PolicyStatement[] =>
  keySecret === undefined ? [] : [new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [keySecret] })]

/** By the variables' names: the agent's own are among them. */
export const acpEnvironment = (settings: AcpSettings | undefined): Record<string, string> => {
  if (!settings) return {}
  const { command, variables, key, keySecret, state, files, login, contextTokens } = settings
  const given: Record<string, string | undefined> = {
    [ENV.acpCommand]: JSON.stringify(command),
    [ENV.acpEnvironment]: Object.keys(variables).join(',') || undefined,
    [ENV.acpKey]: key,
    [ENV.acpKeySecret]: keySecret,
    [ENV.acpState]: state.join(',') || undefined,
    [ENV.acpFiles]: files && JSON.stringify(files),
    [ENV.acpLogin]: login,
    [ENV.acpContextTokens]: contextTokens?.toString(),
  }
  return {
    ...variables,
    ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<string, string>),
  }
}
