/** The stack's template without bundling anything, and its parts as a test asks for them. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import type { CloudAssembly } from 'aws-cdk-lib/cx-api'
import type { FunctionName } from '../../lib/names.ts'
import { parseSettings } from '../../lib/infra/read-settings.ts'
import type { Settings } from '../../lib/infra/settings.ts'
import { ReviewloopStack } from '../../lib/infra/stack.ts'

export interface Resource {
  Type: string
  Properties: Record<string, unknown>
  DeletionPolicy?: string
}
export interface Template {
  Resources: Record<string, Resource>
}

export const exampleSettings = (changes: Record<string, unknown> = {}): Settings =>
  parseSettings(
    {
      stage: 'test',
      repositories: [
        {
          url: 'https://git.example/one.git',
          defaultBranch: 'main',
          schedule: { expression: 'cron(0 3 * * ? *)', timezone: 'Europe/Berlin', branch: 'develop' },
        },
        { url: 'https://git.example/two.git', defaultBranch: 'trunk' },
      ],
      gitTokenSecret: SECRET,
      pushTokenSecret: PUSH_SECRET,
      github: { appId: 7, keySecret: APP_SECRET, webhookSecret: HOOK_SECRET },
      ...changes,
    },
    'of a test',
  )

export const HOOK_SECRET = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:webhooks-MnOpQr'
export const APP_SECRET = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:github-app-GhIjKl'
export const PUSH_SECRET = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:push-token-StUvWx'
export const SECRET = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:git-token-AbCdEf'

/** Folders that stand for the bundles: what is in them does not matter to the template. */
const emptyBundles = (folder: string) => {
  for (const name of ['zip', 'image']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'zip/index.mjs'), 'export const handler = () => {}')
  writeFileSync(join(folder, 'image/Dockerfile'), 'FROM scratch')
  return { zip: () => join(folder, 'zip'), image: join(folder, 'image') }
}

const synthesized = <T>(settings: Settings, look: (app: App) => void, read: (assembly: CloudAssembly, stack: string) => T): T => {
  const folder = mkdtempSync(join(tmpdir(), 'reviewloop-template-'))
  try {
    const app = new App({ analyticsReporting: false, outdir: join(folder, 'out') })
    const stack = new ReviewloopStack(app, `reviewloop-${settings.stage}`, { settings, bundles: emptyBundles(folder) })
    look(app)
    return read(app.synth(), stack.stackName)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Synthesizes the stack, offline; `look` sees the app before it is synthesized. */
export const synthesize = (settings: Settings = exampleSettings(), look: (app: App) => void = () => {}): Template =>
  synthesized(settings, look, (assembly, stack) => assembly.getStackByName(stack).template as Template)

/** Build arguments of each container image of the stack. */
export const imageArguments = (settings: Settings): Record<string, string>[] =>
  synthesized(
    settings,
    () => {},
    ({ directory }, stack) => {
      const { dockerImages } = JSON.parse(readFileSync(join(directory, `${stack}.assets.json`), 'utf8')) as {
        dockerImages: Record<string, { source: { dockerBuildArgs?: Record<string, string> } }>
      }
      return Object.values(dockerImages).map(({ source }) => source.dockerBuildArgs ?? {})
    },
  )

export const ofType = (template: Template, type: string): [string, Resource][] =>
  Object.entries(template.Resources).filter(([, resource]) => resource.Type === type)

/** The one resource of a type. */
export const only = (template: Template, type: string): [string, Resource] => {
  const [first, ...more] = ofType(template, type)
  if (!first || more.length) throw new Error(`${first ? more.length + 1 : 0} resources of type ${type}`)
  return first
}

export const functionId = (name: FunctionName): string => `${name}Function`

/** Environment of a function, each value as plain text. */
export const environmentOf = (template: Template, name: FunctionName): Record<string, string> => {
  const { Environment } = (template.Resources[functionId(name)]?.Properties ?? {}) as {
    Environment?: { Variables: Record<string, unknown> }
  }
  return Object.fromEntries(Object.entries(Environment?.Variables ?? {}).map(([key, value]) => [key, plain(value)]))
}

const PSEUDO: Record<string, string> = {
  'AWS::Partition': 'aws',
  'AWS::Region': 'us-east-1',
  'AWS::AccountId': '000000000000',
  'AWS::URLSuffix': 'amazonaws.com',
}

/** An intrinsic as text: pseudo parameters by their usual values, a resource's ARN as `attribute` says, else `<id>`. */
export const plain = (value: unknown, attribute: (id: string, name: string) => string = (id) => id): string => {
  if (typeof value === 'string') return value
  const { Ref, ...rest } = value as { Ref?: string; 'Fn::GetAtt'?: [string, string]; 'Fn::Join'?: [string, unknown[]] }
  if (Ref !== undefined) return PSEUDO[Ref] ?? Ref
  if (rest['Fn::GetAtt']) return attribute(...rest['Fn::GetAtt'])
  if (rest['Fn::Join']) return rest['Fn::Join'][1].map((part) => plain(part, attribute)).join(rest['Fn::Join'][0])
  throw new Error(`not an intrinsic that this knows: ${JSON.stringify(value)}`)
}
