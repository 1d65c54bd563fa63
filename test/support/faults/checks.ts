/** What has to be true of a world that came to rest. */
import type { RunItem } from '../../../lib/loop/items.ts'
import { directoryArtifacts } from '../../../lib/stores/directory/artifacts.ts'
import { readReport } from '../../../lib/loop/close.ts'
import { report as reportSchema } from '../../../lib/loop/report.ts'
import { loadRecord } from '../../../lib/loop/run-record.ts'
import { OUTCOMES } from '../../../lib/names.ts'
import { TURN_ROLES } from '../../../lib/names.ts'
import { historyOf, ownerOf, readFiles, readItem, readTables, type Tables } from './leftovers.ts'
import { HEADS } from './place.ts'
import type { World } from './world.ts'

export const check = async (world: World): Promise<RunItem[]> => {
  const tables = await readTables(world)
  const files = await readFiles(world)
  const runs = (await Promise.all(HEADS.map((name) => readItem(world, world.runIdOf(name))))).filter((run) => run !== null)
  for (const run of runs) {
    checkEnd(world, run)
    await checkHistory(world, run)
    if (run.status === 'ended') await checkEnded(world, run, tables, files)
  }
  checkBranches(world, runs, tables)
  checkSecrets(world, tables, files)
  await checkPublished(world, runs)
  return runs
}

const checkEnd = ({ monitor }: World, run: RunItem): void => {
  const how = run.status === 'ended' ? run.verdict?.outcome : run.status
  if (how !== 'parked' && !OUTCOMES.some((outcome) => outcome === how)) monitor.violation(`run ${run.runId} rests as ${how}`)
  if (how !== 'failed') return
  const error = run.verdict?.error ?? ''
  if (!monitor.excuses.has(error))
    monitor.violation(`run ${run.runId} failed as ${error}, and nothing explains it: ${run.failure?.message}`)
}

/** The history tells of every turn once, and as it was recorded. */
const checkHistory = async (world: World, run: RunItem): Promise<void> => {
  const history = await historyOf(world, run.runId)
  const numbers = history.map(({ turn }) => turn)
  if (new Set(numbers).size !== numbers.length)
    world.monitor.violation(`the history of ${run.runId} tells of a turn twice: ${numbers.join()}`)
  for (const turn of history)
    if (!world.monitor.recorded(run.runId, turn.turn))
      world.monitor.violation(`the history of ${run.runId} tells of turn ${turn.turn}, which never finished`)
}

const checkEnded = async (world: World, run: RunItem, tables: Tables, files: { path: string }[]): Promise<void> => {
  const { monitor } = world
  const history = await historyOf(world, run.runId)
  for (const role of TURN_ROLES) {
    const item = tables.turnItems.find((found) => found.runId === run.runId && found.role === role)
    if (!item?.closed || item.session || item.checkpoint || item.running)
      monitor.violation(`the ${role}'s item of ${run.runId} is no tombstone`)
    for (const turn of history.filter((found) => found.role === role && found.fingerprint !== null))
      if (!item?.fingerprints.includes(turn.fingerprint ?? ''))
        monitor.violation(`the fingerprint of turn ${turn.turn} of ${run.runId} is gone`)
  }
  for (const { path } of files.filter(({ path: found }) => /^artifacts\/(transcripts|work)\//.test(found) && found.includes(run.runId))) {
    if (monitor.late.has(path.slice('artifacts/'.length))) monitor.counts.leftovers++
    else monitor.violation(`${path} is left of the ended run`)
  }
  await checkVerdict(world, run)
}

const checkVerdict = async (world: World, run: RunItem): Promise<void> => {
  const { monitor } = world
  const artifacts = directoryArtifacts(world.folder.artifacts)
  const { verdict, runId } = run
  const report = reportSchema.parse(JSON.parse(new TextDecoder().decode(await readReport({ artifacts }, runId, 'json'))))
  if (report.outcome !== verdict?.outcome || report.reason !== verdict.reason)
    monitor.violation(`the report of ${runId} says ${report.outcome}`)
  if (verdict?.outcome !== 'approved') return
  const record = await loadRecord({ artifacts }, { record: run.record, source: null })
  const commit = record.commits.at(-1)?.id ?? run.request.head
  if (record.commits.length > 0 && !monitor.published.some((push) => push.runId === runId && push.commit === commit))
    monitor.violation(`${runId} was approved at ${commit}, which was never pushed`)
  if (verdict.reason === 'by-person') {
    if (run.decision?.answer.kind !== 'approve' || run.decision.by !== verdict.by) monitor.violation(`nobody approved ${runId}`)
    return
  }
  if (run.decision && run.decision.answer.kind !== 'fix') monitor.violation(`${runId} was approved against ${run.decision.answer.kind}`)
  if (!record.commits.length) return
  if (!record.certificates.some((certificate) => certificate.commit === commit))
    monitor.violation(`${runId} was approved without a certificate on ${commit}`)
  const declined = new Set(record.findings.flatMap(({ rule, status }) => (status === 'declined' ? [rule] : [])))
  const looks = monitor.certified.filter((look) => look.runId === runId && look.commit === commit)
  if (!looks.some(({ blocking }) => blocking.every((rule) => declined.has(rule))))
    monitor.violation(`${runId} was approved at ${commit}, which no certifier found clean`)
}

const checkBranches = ({ monitor }: World, runs: readonly RunItem[], { branches }: Tables): void => {
  for (const { active } of branches) {
    // A start that was cut off before there was a run leaves a lock that keeps nobody out.
    const run = runs.find(({ runId }) => runId === active)
    if (run && run.status !== 'parked') monitor.violation(`a branch is locked by ${active}, which is ${run.status}`)
  }
  const open = runs.filter(({ status, request }) => status !== 'ended' && request.branch === 'change')
  if (open.length > 1) monitor.violation('two runs of one branch have not ended')
}

/** Nothing of a conversation is anywhere but in its own role's transcript, and no id but in its own role's item. */
const checkSecrets = ({ monitor }: World, tables: Tables, files: { path: string; text: string }[]): void => {
  const places = [
    ...tables.texts.map(({ key, text }) => ({ where: `item ${key}`, text, reader: ownerOf(key) })),
    ...files.map(({ path, text }) => ({ where: path, text, reader: ownerOf(path) })),
    ...monitor.texts.map(({ where, text }) => ({ where, text, reader: null })),
  ]
  const seen = new Set<string>()
  for (const { where, text, reader } of places)
    for (const leak of monitor.secrets.leaked(text, reader)) {
      if (!seen.has(leak)) monitor.violation(`${where} holds ${leak}: ${around(text, leak)}`)
      seen.add(leak)
    }
}

/** Where in the text it stands. */
const around = (text: string, leak: string): string => {
  const found = /CANARY-\w+|(?<=session id )\S+/.exec(leak)?.[0] ?? leak
  const at = text.indexOf(found)
  return text.slice(Math.max(0, at - 80), at + found.length + 20).replace(/\s+/g, ' ')
}

const checkPublished = async ({ monitor, place }: World, runs: readonly RunItem[]): Promise<void> => {
  for (const { runId, target, commit } of monitor.published) {
    const run = runs.find((found) => found.runId === runId)
    if (run?.publishing?.commit !== commit) monitor.violation(`${runId} published ${commit}, and its item says ${run?.publishing?.commit}`)
    const tip = await place.tip(target)
    if (tip !== commit && target !== 'change') monitor.violation(`${target} is at ${tip}, and ${commit} was published`)
  }
}
