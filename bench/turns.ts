/** What a turn costs outside the agent, and what a run counts. */
import { type Measured, withLoop } from './measured-loop.ts'
import { withBranches } from './repository.ts'
import type { Figure } from './run.ts'
import { roundsScenario, turnsOf } from './scenario.ts'

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Takes `count` runs of so many rounds, one after the other, and gives what each counted. */
const measure = (rounds: number, count: number): Promise<Measured[]> =>
  withBranches(count, (branches) =>
    withLoop(roundsScenario(rounds), async ({ run, measured }) => {
      const taken: Measured[] = []
      for (const branch of branches) {
        const end = await run(branch)
        if (!end.startsWith('succeeded: approved')) throw new Error(`a measured run of ${rounds} rounds ended as ${end}`)
        taken.push(measured())
      }
      return taken
    }),
  )

const RUNS = 6
const ROUNDS = 2

export const turns = async (): Promise<Figure[]> => {
  const [, ...warm] = await measure(ROUNDS, RUNS + 1)
  const how = `median of ${RUNS} runs of ${ROUNDS} rounds, one after the other, after one to warm up; real git, scripted agent`
  const figures = ['Review', 'Fix', 'Certify'].map((state) => {
    const outside = warm.flatMap(({ inState, inAgent }) => {
      const agents = inAgent.filter((entry) => entry.state === state)
      return inState.filter((entry) => entry.state === state).map((entry, index) => entry.milliseconds - (agents[index]?.milliseconds ?? 0))
    })
    return { figure: `${state}: time of a turn outside the agent`, value: `${median(outside).toFixed(0)} ms`, how }
  })
  const rest = warm.map(({ inState }) =>
    sum(inState.filter(({ state }) => !/^(Review|Fix|Certify)$/.test(state)).map((entry) => entry.milliseconds)),
  )
  return [
    ...figures,
    { figure: 'rest of a run: Prepare, Publish, Close, Route', value: `${median(rest).toFixed(0)} ms`, how },
    ...(await commands()),
  ]
}

/** Commands a turn: what runs of five rounds send more than runs of one, by the turns that they have more. */
const commands = async (): Promise<Figure[]> => {
  const [few, many] = [...(await measure(1, 1)), ...(await measure(5, 1))].map((taken) => taken.commands)
  const more = turnsOf(5) - turnsOf(1)
  const count = (sent: string[] | undefined, name: string): number => sent?.filter((command) => command === name).length ?? 0
  return [...new Set(many)].toSorted().map((name) => ({
    figure: `${name} a turn`,
    value: ((count(many, name) - count(few, name)) / more).toFixed(2),
    how: `counted by SDK middleware: a run of 5 rounds less a run of 1, by ${more} turns`,
  }))
}

export const transitions = async (): Promise<Figure[]> => {
  const figures: Figure[] = []
  for (let rounds = 0; rounds <= 5; rounds++) {
    const [taken] = await measure(rounds, 1)
    const how = `states entered, Route and the ends included; turns: ${turnsOf(rounds)}`
    figures.push({
      figure: `transitions of a run with ${rounds} round${rounds === 1 ? '' : 's'}`,
      value: String(taken?.transitions ?? 0),
      how,
    })
  }
  return figures
}
