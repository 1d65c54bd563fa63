/** The ways in: the API, the schedules, and the events of executions that ended unseen. */
import { describe, expect, test } from 'vitest'
import { SIZES } from '../../lib/infra/functions.ts'
import { exampleSettings, ofType, only, plain, synthesize } from '../support/template.ts'

const template = synthesize()

describe('the API', () => {
  const routes = ofType(template, 'AWS::ApiGatewayV2::Route').map(([, route]) => route.Properties)

  test('has the two routes, both under IAM', () => {
    expect(Object.fromEntries(routes.map(({ RouteKey, AuthorizationType }) => [RouteKey, AuthorizationType]))).toEqual({
      'GET /runs/{id}': 'AWS_IAM',
      'POST /runs': 'AWS_IAM',
    })
  })

  test('leads each to its function', () => {
    const targets = Object.fromEntries(
      routes.map(({ RouteKey, Target }) => {
        const integration = plain(Target).replace('integrations/', '')
        return [RouteKey, plain(template.Resources[integration]?.Properties['IntegrationUri'])]
      }),
    )
    expect(targets).toEqual({ 'POST /runs': 'StartFunction', 'GET /runs/{id}': 'ShowFunction' })
  })

  test('is throttled and logged', () => {
    const [, stage] = only(template, 'AWS::ApiGatewayV2::Stage')
    expect(stage.Properties).toMatchObject({ DefaultRouteSettings: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 40 } })
    expect(stage.Properties['AccessLogSettings']).toBeDefined()
  })

  test('answers within what an HTTP API waits', () => {
    for (const name of ['Start', 'Show'] as const) expect(SIZES[name].timeout).toBeLessThan(30)
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
      schedule: { repository: 'https://git.example/one.git', branch: 'develop', base: 'main' },
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
  const [, rule] = only(template, 'AWS::Events::Rule')
  expect(rule.Properties['EventPattern']).toMatchObject({
    source: ['aws.states'],
    'detail-type': ['Step Functions Execution Status Change'],
    detail: { status: ['FAILED', 'ABORTED', 'TIMED_OUT'], stateMachineArn: [{ Ref: expect.stringMatching(/^LoopMachine/) as string }] },
  })
  const [target] = rule.Properties['Targets'] as { Arn: unknown; DeadLetterConfig: unknown }[]
  expect(plain(target?.Arn)).toBe('RecordFailureFunction')
  expect(target?.DeadLetterConfig).toBeDefined()
})
