/** A function that touches source: it runs from the one container image, which has git and the agents' packages. */
import { Architecture, DockerImageCode, DockerImageFunction } from 'aws-cdk-lib/aws-lambda'
import { Platform } from 'aws-cdk-lib/aws-ecr-assets'
import { Construct } from 'constructs'
import { OPTIONAL_AGENTS } from '../names.ts'
import { imageHandler } from './bundling.ts'
import { functionOptions, type LoopFunctionProps, nameInTemplate } from './loop-function.ts'
import { agentsNamed } from './settings.ts'

const isOptional = (agent: string): boolean => (OPTIONAL_AGENTS as readonly string[]).includes(agent)

export class TurnFunction extends Construct {
  readonly function: DockerImageFunction

  /** x86-64: the image is built where it is deployed from, and there an image of another processor would be built by emulation. */
  constructor(scope: Construct, id: string, props: LoopFunctionProps) {
    super(scope, id)
    this.function = new DockerImageFunction(this, 'Function', {
      ...functionOptions(this, props),
      architecture: Architecture.X86_64,
      code: DockerImageCode.fromImageAsset(props.code, {
        cmd: [imageHandler(props.name)],
        platform: Platform.LINUX_AMD64,
        buildArgs: {
          AGENTS: agentsNamed(props.settings).filter(isOptional).join(' '),
          ...(props.settings.acp?.package ? { ACP_PACKAGE: props.settings.acp.package } : {}),
        },
        assetName: 'reviewloop',
      }),
    })
    nameInTemplate(props.name, this.function)
  }
}
