/** Many runs at once through one engine: all of them have to end right. */
import { withLoop } from './measured-loop.ts'
import { withBranches } from './repository.ts'
import type { Figure } from './run.ts'
import { roundsScenario, turnsOf } from './scenario.ts'

const RUNS = 200
const MB = 1024 * 1024

export const crowd = (): Promise<Figure[]> =>
  withBranches(RUNS, (branches) =>
    withLoop(roundsScenario(1), async ({ run }) => {
      const before = process.memoryUsage().rss
      let peak = before
      const sampler = setInterval(() => {
        peak = Math.max(peak, process.memoryUsage().rss)
      }, 50)
      const started = performance.now()
      const ends = await Promise.all(branches.map(run)).finally(() => clearInterval(sampler))
      const seconds = (performance.now() - started) / 1000
      const ways = Object.groupBy(ends, (end) => end)
      const how = `${RUNS} runs of 1 round (${turnsOf(1)} turns each), one branch each, started together; real git, scripted agent`
      if (Object.keys(ways).length !== 1) process.exitCode = 1
      return [
        ...Object.entries(ways).map(([way, runs]) => ({ figure: `at once: ${way}`, value: `${runs?.length ?? 0} of ${RUNS}`, how })),
        { figure: 'at once: time', value: `${seconds.toFixed(1)} s`, how: 'from the first start to the last end' },
        {
          figure: 'at once: memory',
          value: `${Math.round(peak / MB)} MB`,
          how: `peak resident size; ${Math.round(before / MB)} MB before`,
        },
      ]
    }),
  )
