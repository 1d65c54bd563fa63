/** Metrics as dashboard and alarms take them: those that the functions say, and those that AWS keeps anyway. */
import { Duration } from 'aws-cdk-lib'
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { type FunctionName, METRICS, type MetricName, metricNamespace, OUTCOMES, THROTTLES, TURN_ROLES } from '../names.ts'
import type { Tables } from './tables.ts'

/** What there is to look at. */
export interface Observed {
  stage: string
  machine: StateMachine
  api: HttpApi
  functions: Record<FunctionName, IFunction>
  tables: Tables
  deadLetters: Queue
}

type Statistic = 'Sum' | 'Maximum' | 'Average' | 'p50' | 'p95'

export interface Asked {
  statistic: Statistic
  minutes: number
}

/** Every value of each dimension: CloudWatch adds nothing up over them by itself. */
const VALUES = { Role: TURN_ROLES, Outcome: OUTCOMES, Error: THROTTLES } as const

/** The deployment's own metric, of one value of its dimension; throws where the metric has other values. */
export const ownMetric = (stage: string, name: MetricName, { statistic, minutes }: Asked, of?: string): Metric => {
  const { by } = METRICS[name]
  const values: readonly string[] = by === null ? [] : VALUES[by]
  if (by === null ? of !== undefined : !values.includes(of ?? '')) throw new Error(`${name} has no ${of ?? 'value without a dimension'}`)
  return new Metric({
    namespace: metricNamespace(stage),
    metricName: name,
    statistic,
    period: Duration.minutes(minutes),
    ...(by === null || of === undefined ? {} : { dimensionsMap: { [by]: of }, label: of }),
  })
}

/** One line for each value of its dimension. */
export const ownMetrics = (stage: string, name: MetricName, asked: Asked): Metric[] => {
  const { by } = METRICS[name]
  return by === null ? [ownMetric(stage, name, asked)] : VALUES[by].map((value) => ownMetric(stage, name, asked, value))
}

const summed = (metrics: readonly Metric[], prefix: string): { terms: string; usingMetrics: Record<string, Metric> } => {
  const usingMetrics = Object.fromEntries(metrics.map((metric, index) => [`${prefix}${index}`, metric]))
  // What was not said counts as nothing.
  const terms = Object.keys(usingMetrics)
    .map((id) => `FILL(${id}, 0)`)
    .join(' + ')
  return { terms, usingMetrics }
}

/** The sum of metrics, whatever they are of. */
export const sumOf = (metrics: readonly Metric[], minutes: number, label: string): MathExpression => {
  const { terms, usingMetrics } = summed(metrics, 'm')
  return new MathExpression({ expression: terms, usingMetrics, label, period: Duration.minutes(minutes) })
}

/** Per cent of the reviewer's and fixer's turns that are counted under `name`; 0 while there are fewer turns than `least`. */
export const shareOfTurns = (stage: string, name: MetricName, { minutes, least }: { minutes: number; least: number }): MathExpression => {
  const of = (metric: MetricName) =>
    (['reviewer', 'fixer'] as const).map((role) => ownMetric(stage, metric, { statistic: 'Sum', minutes }, role))
  const part = summed(of(name), 'p')
  const all = summed(of('Turns'), 'a')
  return new MathExpression({
    expression: `IF((${all.terms}) >= ${least}, 100 * (${part.terms}) / (${all.terms}), 0)`,
    usingMetrics: { ...part.usingMetrics, ...all.usingMetrics },
    label: `${name}, per cent`,
    period: Duration.minutes(minutes),
  })
}
