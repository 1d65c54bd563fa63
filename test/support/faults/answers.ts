/** What people answer to a run that asks. */
import type { Answer } from '../../../lib/loop/decision.ts'
import type { RunItem } from '../../../lib/loop/items.ts'
import { loadRecord } from '../../../lib/loop/run-record.ts'
import { directoryArtifacts } from '../../../lib/stores/directory/artifacts.ts'
import type { PersonsAnswer } from './plan.ts'
import type { World } from './world.ts'

/** Of the answers that fit the question, the seed's. `leave` and `expire`: nobody answers. */
export const answerTo = async (world: World, item: RunItem): Promise<Answer | 'leave' | 'expire'> => {
  const { chance, plan, folder } = world
  const { id = '', roundsLeft = 0, record = null } = item.question ?? {}
  const weights = { ...plan.answers, ...(roundsLeft < 1 ? { fix: 0, add: 0 } : {}) }
  const kind = chance.weighted<PersonsAnswer>(weights, 'answer', world.tag(item.runId), id)
  if (kind === 'leave' || kind === 'expire') return kind
  if (kind !== 'fix' && kind !== 'add') return { kind }
  const artifacts = { artifacts: directoryArtifacts(folder.artifacts) }
  const open = (await world.aside(() => loadRecord(artifacts, { record, source: null }))).findings
    .filter(({ status }) => status === 'open')
    .map((found) => found.id)
  const add = { rule: 'wish', severity: 'warning', action: 'auto-fix', file: 'a.js', text: 'as I wish' } as const
  const [declined = null, ...rest] = open
  if (kind === 'add') return { kind: 'fix', findings: [], decline: open.slice(0, 1), notes: {}, add: [add] }
  const declines = rest.length > 0 && declined !== null && chance.happens(0.3, 'declines', id)
  return open.length
    ? { kind: 'fix', findings: declines ? rest : open, decline: declines ? [declined] : [], notes: {}, note: 'please', add: [] }
    : { kind: 'fix', findings: [], decline: [], notes: {}, add: [add] }
}
