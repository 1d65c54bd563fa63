/** Whole runs from the files of the image, each turn in a process of its own: what there is to see of them. */
import { runState } from '../../lib/loop/run.ts'
import { FUNCTION_FOLDERS } from '../../lib/names.ts'
import { invoke } from './bare-node.ts'
import { makeChange } from './git-repository.ts'
import type { ImageWorld } from './image-world.ts'

export interface ImageRun {
  /** The image's task folder. */
  root: string
  agent: string
  /** File of the change, and the line in it that the agent finds and can mend. */
  file: string
  bad: string
  /** Variables beside those that every function has. */
  environment: Record<string, string>
}

/** What a run with that agent comes to: its steps, findings, turns (`agent mode`) and the files of its commits. */
export const runFromImage = async (world: ImageWorld, { root, agent, file, bad, environment }: ImageRun) => {
  const { repository, base, head } = await makeChange({ [file]: 'export const a = 1\n' }, { [file]: `export const a = 1\n${bad}` })
  try {
    let state = await world.prepared(repository, { base, head }, agent)
    const taken: string[] = []
    while (state.next === 'Review' || state.next === 'Fix' || state.next === 'Certify') {
      taken.push(state.next)
      const outcome = await invoke(root, `${FUNCTION_FOLDERS[state.next]}.mjs`, { ...world.environment, ...environment }, state)
      if (outcome.kind !== 'answer') throw new Error(JSON.stringify(outcome))
      state = runState.parse(outcome.value)
    }
    const { findings, turns, commits } = await world.record(state)
    return {
      taken,
      findings: findings.map(({ rule, status }) => `${rule} ${status}`),
      turns: turns.map((turn) => `${turn.agent} ${turn.mode}`),
      files: commits.map((commit) => commit.files),
    }
  } finally {
    await repository.close()
  }
}

/** What such a run comes to where all is well. */
export const mended = ({ agent, file, rule }: { agent: string; file: string; rule: string }): Awaited<ReturnType<typeof runFromImage>> => ({
  taken: ['Review', 'Fix', 'Review', 'Certify'],
  findings: [`${rule} fixed`],
  turns: ['started', 'started', 'resumed', 'cold'].map((mode) => `${agent} ${mode}`),
  files: [[file]],
})
