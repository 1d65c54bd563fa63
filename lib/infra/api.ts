/** The HTTP API: the routes of names.ts, open to whom IAM lets in or to the jobs of a CI. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { HttpApi, HttpMethod, HttpStage, type IHttpRouteAuthorizer, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2'
import {
  HttpIamAuthorizer,
  HttpJwtAuthorizer,
  HttpLambdaAuthorizer,
  HttpLambdaResponseType,
} from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { API_ROUTES, CI_KINDS, ciIssuer, type CiKind, type FunctionName, WEBHOOK_PATH } from '../names.ts'
import type { deploymentDocument } from './deployment-document.ts'
import type { Settings } from './settings.ts'

export interface ApiProps {
  settings: Settings
  deployment: ReturnType<typeof deploymentDocument>
  functions: Record<FunctionName, IFunction>
}

/**
 * GitHub signs with a secret that is no credential of AWS. What has no signature is turned away before anything is called; whether it fits is
 * the function's to say, which alone sees the body.
 */
const takeWebhooks = (api: HttpApi, webhook: IFunction): void => {
  const authorizer = new HttpLambdaAuthorizer('Signed', webhook, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    identitySource: ['X-Hub-Signature-256', 'X-GitHub-Delivery', 'X-GitHub-Event'].map((name) => `$request.header.${name}`),
    resultsCacheTtl: Duration.seconds(0),
  })
  const integration = new HttpLambdaIntegration('Webhook', webhook, { timeout: Duration.seconds(29) })
  api.addRoutes({ path: WEBHOOK_PATH, methods: [HttpMethod.POST], integration, authorizer })
}

/** What is read of the document here. */
interface Trusting {
  audience: string
  repositories: readonly { forge: { kind: 'git' | 'bundle' } | { kind: CiKind; apiUrl: string }; triggers: { oidc?: object | undefined } }[]
}

/** The issuer whose tokens the routes of a CI take; null where no repository takes any. Throws where there are two: a route has one. */
export const issuerOfRoutes = (kind: CiKind, { repositories }: Pick<Trusting, 'repositories'>): string | null => {
  const issuers = repositories.flatMap(({ forge, triggers }) =>
    triggers.oidc && forge.kind === kind ? [ciIssuer(kind, forge.apiUrl)] : [],
  )
  const [issuer = null, ...others] = new Set(issuers)
  if (others.length) throw new Error(`Two issuers of ${kind} tokens, ${issuer} and ${others[0]}: give each a deployment of its own`)
  return issuer
}

/** Asked before a function is: the functions check the token again, and more of it than this can. */
const authorizersOf = (deployment: Trusting): Partial<Record<'iam' | CiKind, IHttpRouteAuthorizer>> => ({
  iam: new HttpIamAuthorizer(),
  ...Object.fromEntries(
    CI_KINDS.flatMap((kind) => {
      const issuer = issuerOfRoutes(kind, deployment)
      if (issuer === null) return []
      return [[kind, new HttpJwtAuthorizer(`Jobs-${kind}`, issuer, { jwtAudience: [deployment.audience] })]]
    }),
  ),
})

export class Api extends Construct {
  readonly url: string
  readonly api: HttpApi

  constructor(scope: Construct, id: string, { settings, deployment, functions }: ApiProps) {
    super(scope, id)
    const authorizers = authorizersOf(deployment)
    const api = (this.api = new HttpApi(this, 'Api', {
      apiName: `reviewloop-${settings.stage}`,
      createDefaultStage: false,
      defaultAuthorizer: new HttpIamAuthorizer(),
    }))
    const integrations = new Map<FunctionName, HttpLambdaIntegration>()
    for (const [route, { function: name, open }] of Object.entries(API_ROUTES)) {
      const authorizer = authorizers[open]
      if (!authorizer) continue
      const integration = integrations.get(name) ?? new HttpLambdaIntegration(name, functions[name], { timeout: Duration.seconds(29) })
      integrations.set(name, integration)
      const [method = '', path = ''] = route.split(' ')
      api.addRoutes({ path, methods: [method as HttpMethod], integration, authorizer })
    }
    if (settings.github?.webhookSecret) takeWebhooks(api, functions.Webhook)
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
