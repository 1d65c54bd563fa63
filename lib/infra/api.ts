/** The HTTP API: two routes, open to whom IAM lets in. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { HttpApi, HttpMethod, HttpStage, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import type { Settings } from './settings.ts'

export interface ApiProps {
  settings: Settings
  start: IFunction
  show: IFunction
}

export class Api extends Construct {
  readonly url: string

  constructor(scope: Construct, id: string, { settings, start, show }: ApiProps) {
    super(scope, id)
    const api = new HttpApi(this, 'Api', {
      apiName: `reviewloop-${settings.stage}`,
      createDefaultStage: false,
      defaultAuthorizer: new HttpIamAuthorizer(),
    })
    const timeout = Duration.seconds(29)
    api.addRoutes({ path: '/runs', methods: [HttpMethod.POST], integration: new HttpLambdaIntegration('Start', start, { timeout }) })
    api.addRoutes({ path: '/runs/{id}', methods: [HttpMethod.GET], integration: new HttpLambdaIntegration('Show', show, { timeout }) })
    const stage = new HttpStage(this, 'Stage', {
      httpApi: api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: 20, burstLimit: 40 },
      accessLogSettings: {
        destination: new LogGroupLogDestination(
          new LogGroup(this, 'AccessLogs', {
            retention: settings.retention.logDays,
            removalPolicy: settings.protect ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
          }),
        ),
      },
    })
    this.url = stage.url
  }
}
