/** A function that touches no source: a small zip of one bundled file. */
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { functionOptions, type LoopFunctionProps, nameInTemplate } from './loop-function.ts'

export class ZipFunction extends Construct {
  readonly function: LambdaFunction

  /** arm64: it is JavaScript alone, so it runs on the cheaper processor wherever it was bundled. */
  constructor(scope: Construct, id: string, props: LoopFunctionProps) {
    super(scope, id)
    this.function = new LambdaFunction(this, 'Function', {
      ...functionOptions(this, props),
      architecture: Architecture.ARM_64,
      runtime: Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: Code.fromAsset(props.code),
    })
    nameInTemplate(props.name, this.function)
  }
}
