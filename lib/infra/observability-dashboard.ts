/** The dashboard: whether it goes well, what waits, what is spent, who is turned away. */
import { Duration } from 'aws-cdk-lib'
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  PeriodOverride,
} from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import type { FunctionName, MetricName } from '../names.ts'
import { type Asked, type Observed, ownMetrics } from './observability-metrics.ts'

const WIDTH = 24
const HEIGHT = 6

const graph = (title: string, left: IMetric[], stacked = false): GraphWidget =>
  new GraphWidget({ title, left, stacked, width: WIDTH / 3, height: HEIGHT, leftYAxis: { min: 0 } })

/** Graphs of the deployment's own metrics, by rows. */
const rowsOf = (stage: string): IWidget[][] => {
  const own = (title: string, names: MetricName[], asked: Asked, stacked = false) =>
    graph(
      title,
      names.flatMap((name) => ownMetrics(stage, name, asked)),
      stacked,
    )
  const sum = { statistic: 'Sum', minutes: 60 } as const
  const most = { statistic: 'Maximum', minutes: 15 } as const
  const typical = { statistic: 'p50', minutes: 60 } as const
  return [
    [
      own('Runs ended, by outcome', ['RunsEnded'], sum, true),
      own('Runs at work and waiting for a person', ['RunsAtWork', 'RunsWaiting'], most),
      own('Oldest run; longest at work and waiting (s)', ['OldestRun', 'LongestAtWork', 'LongestWaiting'], most),
    ],
    [
      own('Time parked (s, median)', ['ParkedTime'], typical),
      own('Length of a run (s, median)', ['RunTime'], typical),
      own('Length of a turn (s, median)', ['TurnTime'], typical),
    ],
    [
      own('Turns, by role', ['Turns'], sum, true),
      own('Turns that fell back', ['TurnsFellBack'], sum, true),
      own('Turns cold though sessions are reused', ['TurnsCold'], sum, true),
    ],
    [
      own('Tokens in, by role', ['TokensIn'], sum, true),
      own('Tokens out, by role', ['TokensOut'], sum, true),
      own('Dollars, by role', ['Dollars'], sum, true),
    ],
    [
      own('Tokens in that came from the cache', ['TokensFromCache'], sum, true),
      own('Turns that ended at a limit', ['TurnsAtLimit'], sum, true),
      own('Agents and forges that throttle', ['Throttles'], sum, true),
    ],
    [own('Calls of agents, by role', ['AgentCalls'], sum, true), own('Runs that parked', ['RunsParked'], sum)],
  ]
}

/** What AWS counts by itself. */
const rowsOfAws = ({ machine, deadLetters, functions, api }: Observed): IWidget[][] => {
  const period = Duration.minutes(15)
  const each = (metric: 'metricThrottles' | 'metricErrors') =>
    (Object.keys(functions) as FunctionName[]).map((name) => functions[name][metric]({ period, label: name }))
  const sum = { statistic: 'Sum', period }
  return [
    [
      graph('Executions', [machine.metricStarted(sum), machine.metricFailed(sum), machine.metricTimedOut(sum), machine.metricAborted(sum)]),
      graph('Errors of functions', each('metricErrors'), true),
      graph('Calls that Lambda turned away', each('metricThrottles'), true),
    ],
    [
      graph('Dead letters', [deadLetters.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period })]),
      graph('API: requests', [api.metricCount(sum), api.metricClientError(sum), api.metricServerError(sum)]),
      graph('API: time to answer (ms)', [api.metricLatency({ statistic: 'p95', period })]),
    ],
  ]
}

export class Board extends Construct {
  constructor(scope: Construct, id: string, observed: Observed, alarms: Alarm[]) {
    super(scope, id)
    new Dashboard(this, 'Dashboard', {
      dashboardName: `reviewloop-${observed.stage}`,
      defaultInterval: Duration.days(7),
      periodOverride: PeriodOverride.INHERIT,
      widgets: [
        [new AlarmStatusWidget({ title: 'Alarms', alarms, width: WIDTH, height: 4 })],
        ...rowsOf(observed.stage),
        ...rowsOfAws(observed),
      ],
    })
  }
}
