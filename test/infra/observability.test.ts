/** What an operator sees of a deployment: every metric on the dashboard, every alarm to people, and where each is explained. */
import { readFileSync } from 'node:fs'
import { expect, describe, test } from 'vitest'
import { ALARMS } from '../../lib/infra/observability-alarms.ts'
import { ownMetric, ownMetrics } from '../../lib/infra/observability-metrics.ts'
import { ENV, FUNCTION_FOLDERS, type FunctionName, metricNamespace, METRICS, type MetricName, WATCH_MINUTES } from '../../lib/names.ts'
import { environmentOf, exampleSettings, ofType, only, plain, synthesize } from '../support/template.ts'

const template = synthesize()
const [topic] = only(template, 'AWS::SNS::Topic')
const NAMESPACE = metricNamespace('test')

interface MetricStat {
  Namespace: string
  MetricName: string
  Dimensions?: { Name: string; Value: unknown }[]
}
interface Alarm {
  AlarmName: string
  AlarmDescription: string
  AlarmActions: unknown[]
  OKActions: unknown[]
  Threshold: number
  TreatMissingData: string
  Metrics?: { Expression?: string; MetricStat?: { Metric: MetricStat; Period: number } }[]
}
const alarms = ofType(template, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties as unknown as Alarm & Partial<MetricStat>)
const watched = (alarm: (typeof alarms)[number]): MetricStat[] =>
  alarm.Metrics
    ? alarm.Metrics.flatMap(({ MetricStat }) => (MetricStat ? [MetricStat.Metric] : []))
    : [{ Namespace: alarm.Namespace ?? '', MetricName: alarm.MetricName ?? '', ...(alarm.Dimensions && { Dimensions: alarm.Dimensions }) }]

describe('alarms', () => {
  test('are those of the table, each tells people when it rings and when it is over', () => {
    expect(alarms.map(({ AlarmName }) => AlarmName).toSorted()).toEqual(
      Object.keys(ALARMS)
        .map((name) => `reviewloop-test-${name}`)
        .toSorted(),
    )
    for (const { AlarmActions, OKActions } of alarms)
      expect([...AlarmActions, ...OKActions].map((action) => plain(action))).toEqual([topic, topic])
  })

  test('CloudWatch may tell the topic, of alarms of this deployment alone', () => {
    const { PolicyDocument } = only(template, 'AWS::SNS::TopicPolicy')[1].Properties as unknown as {
      PolicyDocument: {
        Statement: { Effect: string; Principal: unknown; Action: unknown; Condition: Record<string, Record<string, unknown>> }[]
      }
    }
    const allowed = PolicyDocument.Statement.filter(({ Effect }) => Effect === 'Allow')
    expect(allowed).toMatchObject([{ Principal: { Service: 'cloudwatch.amazonaws.com' }, Action: 'sns:Publish' }])
    const { StringEquals, ArnLike } = allowed[0]?.Condition ?? {}
    expect(plain(StringEquals?.['aws:SourceAccount'])).toBe('000000000000')
    expect(plain(ArnLike?.['aws:SourceArn'])).toBe('arn:aws:cloudwatch:us-east-1:000000000000:alarm:reviewloop-test-*')
  })

  test('are within what CloudWatch takes of one', () => {
    for (const alarm of alarms) expect(watched(alarm).length).toBeLessThanOrEqual(10)
    const page = readFileSync(new URL('../../docs/cost.md', import.meta.url), 'utf8')
    expect(page).toContain(`| metrics that the alarms watch, each paid for itself | ${alarms.flatMap(watched).length} |`)
  })

  test('watch what the functions say under that very name and dimension', () => {
    const own = alarms.flatMap(watched).filter(({ Namespace }) => Namespace === NAMESPACE)
    expect(own.length).toBeGreaterThan(8)
    for (const { MetricName: name, Dimensions = [] } of own) {
      const { by } = METRICS[name as MetricName]
      expect(Dimensions.map(({ Name }) => Name)).toEqual(by === null ? [] : [by])
    }
  })

  test.each(Object.keys(ALARMS))('%s has a section that says what to do', (name) => {
    const page = readFileSync(new URL('../../docs/operate.md', import.meta.url), 'utf8')
    const [, section = ''] = new RegExp(`^### ${name}\\n([^]*?)(?=^##|(?![^]))`, 'm').exec(page) ?? []
    expect(section.trim().length).toBeGreaterThan(80)
    expect(alarms.find(({ AlarmName }) => AlarmName.endsWith(name))?.AlarmDescription).toContain(`docs/operate.md, ${name}`)
  })

  test('silence rings where how things stand is always said, and nowhere else', () => {
    expect(alarms.filter(({ TreatMissingData }) => TreatMissingData === 'breaching').map(({ AlarmName }) => AlarmName)).toEqual([
      'reviewloop-test-StuckRuns',
    ])
  })
})

describe('the dashboard', () => {
  const [, { Properties }] = only(template, 'AWS::CloudWatch::Dashboard')
  const body = plain(Properties['DashboardBody'], (id, name) => `${id}.${name}`)
  const { widgets } = JSON.parse(body) as { widgets: { type: string; properties: { metrics?: unknown[][]; alarms?: string[] } }[] }
  const drawn = widgets.flatMap(({ properties }) => properties.metrics ?? [])

  test('draws every metric that the functions say, by every value of its dimension', () => {
    const own = drawn.filter(([namespace]) => namespace === NAMESPACE)
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const lines = own.filter(([, metric]) => metric === name)
      expect([name, lines.length]).toEqual([name, ownMetrics('test', name, { statistic: 'Sum', minutes: 60 }).length])
    }
  })

  test('draws errors and calls turned away of every function', () => {
    for (const metric of ['Errors', 'Throttles']) {
      const functions = drawn.filter(([namespace, name]) => namespace === 'AWS/Lambda' && name === metric)
      expect(functions.length).toBe(Object.keys(FUNCTION_FOLDERS).length)
    }
  })

  test('shows every alarm', () => {
    expect(widgets.flatMap(({ properties }) => properties.alarms ?? []).length).toBe(Object.keys(ALARMS).length)
  })
})

test('a metric is asked for by a value that its dimension has, or not at all', () => {
  const asked = { statistic: 'Sum', minutes: 60 } as const
  expect(() => ownMetric('test', 'Turns', asked, 'nobody')).toThrow('Turns has no nobody')
  expect(() => ownMetric('test', 'Turns', asked)).toThrow('Turns has no value')
  expect(() => ownMetric('test', 'RunsParked', asked, 'fixer')).toThrow('RunsParked has no fixer')
})

test('every function says its metrics under the namespace that they are looked for in', () => {
  for (const name of Object.keys(FUNCTION_FOLDERS) as FunctionName[]) expect(environmentOf(template, name)[ENV.metrics]).toBe(NAMESPACE)
  const other = synthesize(exampleSettings({ stage: 'dev' }))
  expect(environmentOf(other, 'Review')[ENV.metrics]).toBe('reviewloop/dev')
  expect(JSON.stringify(other)).not.toContain('reviewloop/test')
})

test('Watch is called by the clock', () => {
  const [, rule] = ofType(template, 'AWS::Events::Rule').find(([, { Properties }]) => 'ScheduleExpression' in Properties) ?? []
  expect(rule?.Properties).toMatchObject({ ScheduleExpression: `rate(${WATCH_MINUTES} minutes)`, State: 'ENABLED' })
  const [target] = (rule?.Properties['Targets'] ?? []) as { Arn: { 'Fn::GetAtt': [string, string] } }[]
  expect(target?.Arn['Fn::GetAtt'][0]).toBe('WatchFunction')
})

describe('logs', () => {
  test('every group forgets, and what is written is kept nowhere else', () => {
    const groups = ofType(template, 'AWS::Logs::LogGroup')
    // Of each function, of the machine, of the API.
    expect(groups.length).toBe(Object.keys(FUNCTION_FOLDERS).length + 2)
    for (const [, { Properties }] of groups) expect(Properties['RetentionInDays']).toBe(90)
    const week = synthesize(exampleSettings({ retention: { logDays: 7 } }))
    for (const [, { Properties }] of ofType(week, 'AWS::Logs::LogGroup')) expect(Properties['RetentionInDays']).toBe(7)
  })

  test('of the machine hold no data of executions, of the API no request, and functions may not log what they are given', () => {
    expect(only(template, 'AWS::StepFunctions::StateMachine')[1].Properties['LoggingConfiguration']).toMatchObject({
      IncludeExecutionData: false,
    })
    const { AccessLogSettings } = only(template, 'AWS::ApiGatewayV2::Stage')[1].Properties as { AccessLogSettings: { Format: string } }
    for (const told of ['body', 'authorizer', 'authorization', 'header', 'querystring'])
      expect(AccessLogSettings.Format.toLowerCase()).not.toContain(told)
    for (const name of Object.keys(FUNCTION_FOLDERS) as FunctionName[])
      expect(Object.keys(environmentOf(template, name)).filter((key) => key.startsWith('POWERTOOLS_'))).toEqual([])
  })
})

test('executions are traced, and no function may send traces of its own', () => {
  expect(only(template, 'AWS::StepFunctions::StateMachine')[1].Properties['TracingConfiguration']).toEqual({ Enabled: true })
  const sending = ofType(template, 'AWS::IAM::Policy').filter(([, { Properties }]) =>
    JSON.stringify(Properties['PolicyDocument']).includes('xray:'),
  )
  expect(sending.map(([id]) => id.startsWith('LoopRole'))).toEqual([true])
})
