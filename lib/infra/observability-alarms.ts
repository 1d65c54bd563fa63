/** Alarms, each with a section of docs/operate.md that says what to do. They go to the topic by which people are told. */
import { Aws, Duration, Stack } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Topic } from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'
import { type FunctionName, IMAGE_FUNCTIONS, WATCH_MINUTES } from '../names.ts'
import { type Observed, ownMetric, ownMetrics, shareOfTurns, sumOf } from './observability-metrics.ts'

export interface AlarmRow {
  /** What is wrong when it rings. */
  says: string
  metric: (observed: Observed) => IMetric
  /** It rings at this value and above. */
  threshold: number
  /** Periods of the metric in a row; 1 where nothing is said. */
  periods?: number
  /** Silence is an alarm too: something that always says how things stand has stopped. */
  silence?: true
}

const HOUR = 60
const asSum = { statistic: 'Sum', minutes: HOUR } as const
const asGauge = { statistic: 'Maximum', minutes: 2 * WATCH_MINUTES } as const

/** Functions that may be called so often at once that Lambda turns some of it away. An alarm takes ten metrics at the most. */
const CROWDED: readonly FunctionName[] = [...IMAGE_FUNCTIONS, 'Start']

/** CloudWatch's names of the alarms follow from the keys. */
export const ALARMS = {
  FailedRuns: {
    says: 'Three runs or more failed within an hour.',
    metric: ({ stage }) => ownMetric(stage, 'RunsEnded', asSum, 'failed'),
    threshold: 3,
  },
  StuckRuns: {
    says: 'A run has been at work for six hours without being parked or ended, or nobody watches any more.',
    metric: ({ stage }) => ownMetric(stage, 'LongestAtWork', asGauge),
    threshold: 6 * 3600,
    silence: true,
  },
  WaitingRuns: {
    says: 'A run has been waiting for a person for a day.',
    metric: ({ stage }) => ownMetric(stage, 'LongestWaiting', asGauge),
    threshold: 24 * 3600,
  },
  FellBack: {
    says: 'A fifth of the turns or more fell back to a fresh session within six hours.',
    metric: ({ stage }) => shareOfTurns(stage, 'TurnsFellBack', { minutes: 6 * HOUR, least: 10 }),
    threshold: 20,
  },
  ColdTurns: {
    says: 'A third of the turns or more began anew within six hours, though sessions are to be reused.',
    metric: ({ stage }) => shareOfTurns(stage, 'TurnsCold', { minutes: 6 * HOUR, least: 10 }),
    threshold: 33,
  },
  ProvidersThrottle: {
    says: 'Agents or forges turned ten invocations or more away within an hour because they had too much to do.',
    metric: ({ stage }) => sumOf(ownMetrics(stage, 'Throttles', asSum), HOUR, 'Throttles'),
    threshold: 10,
  },
  AwsThrottles: {
    says: 'Lambda or DynamoDB turned calls away for two quarters of an hour in a row.',
    metric: ({ functions, tables }) =>
      sumOf(
        [
          ...CROWDED.map((name) => functions[name].metricThrottles({ period: Duration.minutes(15) })),
          ...[tables.sessions, tables.runs].flatMap((table) =>
            ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) =>
              table.metric(name, { statistic: 'Sum', period: Duration.minutes(15) }),
            ),
          ),
        ],
        15,
        'Calls turned away',
      ),
    threshold: 1,
    periods: 2,
  },
  DeadLetters: {
    says: 'An event could not be delivered: a start by the clock, a lost execution, or news for a forge.',
    metric: ({ deadLetters }) =>
      deadLetters.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: Duration.minutes(5) }),
    threshold: 1,
  },
  ExecutionsTimedOut: {
    says: 'An execution of the state machine ran out of time.',
    metric: ({ machine }) => machine.metricTimedOut({ statistic: 'Sum', period: Duration.minutes(15) }),
    threshold: 1,
  },
  ApiErrors: {
    says: 'The API answered five requests or more within a quarter of an hour with a fault of its own.',
    metric: ({ api }) => api.metricServerError({ statistic: 'Sum', period: Duration.minutes(15) }),
    threshold: 5,
  },
} as const satisfies Record<string, AlarmRow>

export class Alarms extends Construct {
  readonly alarms: Alarm[]

  constructor(scope: Construct, id: string, observed: Observed & { topic: Topic }) {
    super(scope, id)
    const { stage, topic } = observed
    const prefix = `reviewloop-${stage}-`
    const action = new SnsAction(topic)
    const rows: [string, AlarmRow][] = Object.entries(ALARMS)
    this.alarms = rows.map(([name, { says, metric, threshold, periods = 1, silence }]) => {
      const alarm = new Alarm(this, name, {
        alarmName: `${prefix}${name}`,
        alarmDescription: `${says} What to do: docs/operate.md, ${name}.`,
        metric: metric(observed),
        threshold,
        evaluationPeriods: periods,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: silence ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
      })
      alarm.addAlarmAction(action)
      alarm.addOkAction(action)
      return alarm
    })
    // A topic with a policy of its own lets nobody in but by it, CloudWatch as little as others.
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: {
          StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID },
          ArnLike: {
            'aws:SourceArn': `${Stack.of(this).formatArn({ service: 'cloudwatch', resource: 'alarm:' })}${prefix}*`.replace(
              'alarm:/',
              'alarm:',
            ),
          },
        },
      }),
    )
  }
}
