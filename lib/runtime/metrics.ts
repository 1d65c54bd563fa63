/**
 * Metrics of a deployed function: lines of its log in CloudWatch's embedded metric format, so that no call is made and nothing waits.
 * By hand, because a line is all there is to it. Nothing is in one but numbers, the dimension and the run's id.
 */
import type { Happening } from '../loop/happening.ts'
import type { TurnRecord } from '../loop/record.ts'
import { ENV, type MetricName, METRICS, THROTTLES } from '../names.ts'

/** null: not known, and then nothing is said. */
type Values = Partial<Record<MetricName, number | null>>

/** A line of the log. All values share the dimension's value; throws where they have no dimension in common. */
export const metricLine = (
  namespace: string,
  values: Values,
  { of, runId, now }: { of?: string; runId?: string | undefined; now: number },
): string | null => {
  const known = Object.entries(values).flatMap(([name, value]) => (typeof value === 'number' ? [[name as MetricName, value] as const] : []))
  const [by, ...others] = new Set(known.map(([name]) => METRICS[name].by))
  if (by === undefined) return null
  if (others.length || (by === null) !== (of === undefined)) throw new Error(`no one dimension: ${known.map(([name]) => name).join(', ')}`)
  const dimension = by === null ? {} : { [by]: of }
  return JSON.stringify({
    _aws: {
      Timestamp: now,
      CloudWatchMetrics: [
        {
          Namespace: namespace,
          Dimensions: [Object.keys(dimension)],
          Metrics: known.map(([name]) => ({ Name: name, Unit: METRICS[name].unit })),
        },
      ],
    },
    ...dimension,
    ...Object.fromEntries(known),
    ...(runId === undefined ? {} : { runId }),
  })
}

const seconds = (milliseconds: number): number => Math.max(0, milliseconds) / 1000

const ofTurn = ({ mode, ended, limit, usage, startedAt, endedAt }: TurnRecord, anew: boolean): Values => ({
  Turns: 1,
  TurnsFellBack: Number(mode === 'fallback'),
  TurnsCold: Number(anew),
  TurnsAtLimit: Number(ended === 'limit' && limit !== null),
  TurnTime: seconds(Date.parse(endedAt) - Date.parse(startedAt)),
  AgentCalls: usage.calls,
  TokensIn: usage.input,
  TokensFromCache: usage.cacheRead,
  TokensOut: usage.output,
  Dollars: usage.dollars,
})

/** The metrics of what happened, with the value of their dimension. */
export const metricsOf = (what: Happening): { values: Values; of?: string } => {
  switch (what.kind) {
    case 'turn':
      return { values: ofTurn(what.record, what.anew), of: what.record.role }
    case 'ended':
      return { values: { RunsEnded: 1, RunTime: seconds(what.tookMs) }, of: what.verdict.outcome }
    case 'parked':
      return { values: { RunsParked: 1 } }
    case 'answered':
      return { values: { ParkedTime: seconds(what.waitedMs) } }
    case 'watched':
      return {
        values: {
          RunsAtWork: what.atWork,
          RunsWaiting: what.waiting,
          LongestAtWork: seconds(what.longestAtWorkMs),
          LongestWaiting: seconds(what.longestWaitingMs),
          OldestRun: seconds(what.oldestMs),
        },
      }
  }
}

/** Past the console: Lambda would wrap what is written there in a line of its own. */
const say = (values: Values, facts: { of?: string; runId?: string | undefined }): void => {
  const namespace = process.env[ENV.metrics]
  const line = namespace === undefined ? null : metricLine(namespace, values, { ...facts, now: Date.now() })
  if (line !== null) process.stdout.write(`${line}\n`)
}

/** Says it in metrics; where the environment names no namespace, nowhere. */
export const sayHappening = (what: Happening): void => {
  const { values, ...of } = metricsOf(what)
  say(values, { ...of, runId: 'runId' in what ? what.runId : undefined })
}

/** Counts an error that ended an invocation, if it is one of those that are counted. */
export const sayError = (name: string, runId: string | undefined): void => {
  const throttle = THROTTLES.find((one) => one === name)
  if (throttle) say({ Throttles: 1 }, { of: throttle, runId })
}
