/** The ways in: the API, the schedules, and the events of executions that ended unseen. */
import { describe, expect, test } from 'vitest'
import { issuerOfRoutes } from '../../lib/infra/api.ts'
import { SIZES } from '../../lib/infra/functions.ts'
import { API_ROUTES, WEBHOOK_PATH } from '../../lib/names.ts'
import { exampleSettings, ofType, only, plain, synthesize } from '../support/template.ts'

const template = synthesize()

describe('the API', () => {
  const routes = ofType(template, 'AWS::ApiGatewayV2::Route').map(([, route]) => route.Properties)

  test('has no route of a CI where no repository takes its tokens; the one for webhooks is under a signature; all others are under IAM', () => {
    const wanted = Object.entries(API_ROUTES).filter(([, { open }]) => open === 'iam')
    expect(Object.fromEntries(routes.map(({ RouteKey, AuthorizationType }) => [RouteKey, AuthorizationType]))).toEqual(
      Object.fromEntries([...wanted.map(([route]) => [route, 'AWS_IAM']), [`POST ${WEBHOOK_PATH}`, 'CUSTOM']]),
    )
  })

  test('sends no page of another origin anything: CORS is off', () => {
    expect(only(template, 'AWS::ApiGatewayV2::Api')[1].Properties).not.toHaveProperty('CorsConfiguration')
  })

  test('leads each to its function', () => {
    const targets = Object.fromEntries(
      routes.map(({ RouteKey, Target }) => {
        const integration = plain(Target).replace('integrations/', '')
        return [RouteKey, plain(template.Resources[integration]?.Properties['IntegrationUri'])]
      }),
    )
    expect(targets).toEqual({
      [`POST ${WEBHOOK_PATH}`]: 'WebhookFunction',
      ...Object.fromEntries(
        Object.entries(API_ROUTES).flatMap(([route, { open, function: name }]) => (open === 'iam' ? [[route, `${name}Function`]] : [])),
      ),
    })
  })

  test('turns away what has no signature before it calls anything, and takes no webhooks where there is no secret for them', () => {
    const [, authorizer] = only(template, 'AWS::ApiGatewayV2::Authorizer')
    expect(authorizer.Properties).toMatchObject({
      AuthorizerType: 'REQUEST',
      EnableSimpleResponses: true,
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: ['$request.header.X-Hub-Signature-256', '$request.header.X-GitHub-Delivery', '$request.header.X-GitHub-Event'],
    })
    expect(plain(authorizer.Properties['AuthorizerUri'])).toContain('WebhookFunction')
    const without = ofType(synthesize(exampleSettings({ github: undefined })), 'AWS::ApiGatewayV2::Route')
    expect(without.map(([, { Properties }]) => Properties['RouteKey'])).not.toContain('POST /webhooks/github')
  })

  test('is throttled and logged', () => {
    const [, stage] = only(template, 'AWS::ApiGatewayV2::Stage')
    expect(stage.Properties).toMatchObject({ DefaultRouteSettings: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 40 } })
    expect(stage.Properties['AccessLogSettings']).toBeDefined()
  })

  test('answers within what an HTTP API waits', () => {
    for (const { function: name } of Object.values(API_ROUTES)) expect(SIZES[name].timeout).toBeLessThan(30)
  })
})

describe("the issuer of a CI's tokens", () => {
  const github = (apiUrl = 'https://api.github.com') => ({ forge: { kind: 'github' as const, apiUrl }, triggers: { oidc: {} } })
  test.each([
    [
      'none takes tokens',
      [
        { ...github(), triggers: {} },
        { forge: { kind: 'git' as const }, triggers: { oidc: {} } },
      ],
      null,
    ],
    ['github.com', [github()], 'https://token.actions.githubusercontent.com'],
    [
      "a server of one's own",
      [github('https://git.example/api/v3'), github('https://git.example/api/v3')],
      'https://git.example/_services/token',
    ],
  ])('%s', (_name, repositories, issuer) => {
    expect(issuerOfRoutes('github', { repositories })).toBe(issuer)
    expect(issuerOfRoutes('gitlab', { repositories })).toBeNull()
  })

  test('of GitLab is the server itself', () => {
    const repositories = [{ forge: { kind: 'gitlab' as const, apiUrl: 'https://gitlab.com/api/v4' }, triggers: { oidc: {} } }]
    expect(issuerOfRoutes('gitlab', { repositories })).toBe('https://gitlab.com')
  })

  test('there is one a deployment', () => {
    expect(() => issuerOfRoutes('github', { repositories: [github(), github('https://git.example/api/v3')] })).toThrow('Two issuers')
  })
})

describe('schedules', () => {
  const schedules = ofType(template, 'AWS::Scheduler::Schedule').map(([, schedule]) => schedule.Properties)

  test('there is one for each repository that has one', () => {
    expect(schedules.length).toBe(1)
    expect(schedules[0]).toMatchObject({ ScheduleExpression: 'cron(0 3 * * ? *)', ScheduleExpressionTimezone: 'Europe/Berlin' })
    expect(
      ofType(
        synthesize(exampleSettings({ repositories: [{ url: 'https://git.example/one.git', defaultBranch: 'main' }] })),
        'AWS::Scheduler::ScheduleGroup',
      ),
    ).toEqual([])
  })

  test('starts its branch, tries again, and keeps what failed', () => {
    const target = schedules[0]?.['Target'] as Record<string, unknown>
    expect(plain(target['Arn'])).toBe('StartFunction')
    expect(JSON.parse(target['Input'] as string)).toEqual({
      // The scheduler fills in when: a delivery that comes twice is of one night.
      schedule: { repository: 'https://git.example/one.git', at: '<aws.scheduler.scheduled-time>' },
    })
    expect(target).toMatchObject({ RetryPolicy: { MaximumRetryAttempts: 5 }, DeadLetterConfig: {} })
  })

  test('another repository leaves it alone', () => {
    const more = synthesize(
      exampleSettings({
        repositories: ['zero', 'one'].map((name) => ({
          url: `https://git.example/${name}.git`,
          defaultBranch: 'main',
          schedule: { expression: 'cron(0 3 * * ? *)', timezone: 'Europe/Berlin', branch: 'develop' },
        })),
      }),
    )
    const ids = (of: typeof template) => ofType(of, 'AWS::Scheduler::Schedule').map(([id]) => id)
    expect(ids(more)).toEqual(expect.arrayContaining(ids(template)))
    expect(ids(more).length).toBe(2)
  })
})

test('ends of executions that no Catch sees reach record-failure, and are kept if they do not', () => {
  const [, rule] = ofType(template, 'AWS::Events::Rule').find(([, { Properties }]) => 'EventPattern' in Properties) ?? []
  expect(rule?.Properties['EventPattern']).toMatchObject({
    source: ['aws.states'],
    'detail-type': ['Step Functions Execution Status Change'],
    detail: { status: ['FAILED', 'ABORTED', 'TIMED_OUT'], stateMachineArn: [{ Ref: expect.stringMatching(/^LoopMachine/) as string }] },
  })
  const [target] = (rule?.Properties['Targets'] ?? []) as { Arn: unknown; DeadLetterConfig: unknown }[]
  expect(plain(target?.Arn)).toBe('RecordFailureFunction')
  expect(target?.DeadLetterConfig).toBeDefined()
})
