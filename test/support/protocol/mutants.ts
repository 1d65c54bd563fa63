/**
 * The protocol with one clause left out: patches of the real code, each of which has to match exactly once. Every one of them has to
 * be caught by the schedules, or the schedules do not show that the clause is needed.
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from './system.ts'

export interface Mutant {
  name: string
  /** The clause of the protocol that is left out. */
  clause: string
  patches: readonly { file: string; find: string; put: string }[]
  /** The bucket lets objects be overwritten. */
  overwrites?: boolean
}

const one = (file: string, find: string, put: string): Mutant['patches'] => [{ file: `lib/loop/${file}`, find, put }]

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'no fence',
    clause: 'A late finish counts only under the current fence.',
    patches: one('turn-item.ts', 'item.running?.turn === turn && item.fence === fence', 'item.running?.turn === turn'),
  },
  {
    name: 'no lease check',
    clause: 'A turn whose lease is valid is busy.',
    patches: one(
      'turn-item.ts',
      'if (running.leaseUntil > now && running.owner === owner)',
      'if (running.leaseUntil > now && running.owner !== owner)',
    ),
  },
  {
    name: 'an id written before the finish',
    clause: 'Session id, transcript and the state that follows move together, in the write that finishes the turn.',
    patches: one(
      'turns.ts',
      '    return await finishTurn(ports, claimed, await work(claimed))\n',
      `    const worked = await work(claimed)
    const item = { ...claimed.item, rev: claimed.item.rev + 1, nonce: ports.effects.nonce() }
    if (worked.session !== 'keep') item.session = worked.session
    await ports.sessions.write(keyOf(item), item)
    return await finishTurn(ports, { ...claimed, item }, worked)
`,
    ),
  },
  {
    name: 'a finished turn taken again',
    clause: 'A turn that is done gives its recorded result.',
    patches: one('turn-item.ts', "if (done?.turn === turn) return { kind: 'done'", "if (done?.turn === -turn) return { kind: 'done'"),
  },
  {
    name: 'a transcript a turn, overwritten',
    clause: 'Transcripts are immutable objects keyed <role>/<runId>/<turn>.<fence>.',
    patches: one(
      'serve-turn.ts',
      "turnObjectKey('transcripts', role, item.runId, number, fence)",
      "turnObjectKey('transcripts', role, item.runId, number, 0)",
    ),
    overwrites: true,
  },
  {
    name: 'one transcript a role, overwritten',
    clause: 'An agent that writes into its own files works on a copy.',
    patches: one(
      'serve-turn.ts',
      "turnObjectKey('transcripts', role, item.runId, number, fence)",
      "turnObjectKey('transcripts', role, item.runId, 0, 0)",
    ),
    overwrites: true,
  },
  {
    name: 'one changeset a turn',
    clause: 'Changesets are immutable objects keyed <role>/<runId>/<turn>.<fence>.',
    patches: one(
      'fix.ts',
      "turnObjectKey('changesets', ROLE, input.runId, turn, fence)",
      "turnObjectKey('changesets', ROLE, input.runId, turn, 0)",
    ),
    overwrites: true,
  },
  {
    name: 'objects without their fence',
    clause: 'Immutable objects carry the fence: without it a turn that is taken again can store nothing.',
    patches: [
      {
        file: 'lib/names.ts',
        find: '`${kind}/${role}/${runId}/${turn}.${fence}`',
        put: '`${kind}/${role}/${runId}/${turn}.${Math.min(fence, 0)}`',
      },
    ],
  },
  {
    name: 'input not kept',
    clause: 'The item keeps the input of the turn in progress, so that a turn entered again gets the same decision.',
    patches: one('turn-item.ts', '{ ...(running?.turn === turn ? running.input : request.input), epoch }', '{ ...request.input, epoch }'),
  },
  {
    name: 'epoch raised without compare-and-set',
    clause: 'Starting or resuming raises the epoch by compare-and-set.',
    patches: [
      {
        file: 'lib/loop/resume.ts',
        find: 'mine = !current.closed && current.epoch === before.epoch\n    return mine ? { epoch: current.epoch + 1 } : null',
        put: 'mine = !current.closed\n    return mine ? { epoch: before.epoch + 1 } : null',
      },
    ],
  },
  {
    name: 'execution not named for its epoch',
    clause: 'The execution is named <runId>-<epoch>, and a name cannot be used again.',
    patches: one(
      'start.ts',
      'executionName(run.runId, 1), initialState(run)',
      '`${run.runId}-1${ports.effects.nonce()}`, initialState(run)',
    ),
  },
  {
    name: 'claims without the epoch',
    clause: 'Claims carry the epoch.',
    patches: one('turn-item.ts', 'if (old.epoch > epoch) return', 'if (old.epoch > epoch + 1e9) return'),
  },
  {
    name: 'Park without the epoch',
    clause: 'Park checks the epoch.',
    patches: [
      ...one('park.ts', '  await readCurrentRun(ports.runs, state)\n', ''),
      ...one('park.ts', '    assertCurrent(current, state)\n', ''),
      ...one('park.ts', 'import { assertCurrent, changeRun, readCurrentRun }', 'import { changeRun }'),
    ],
  },
  {
    name: 'Decide without the epoch',
    clause: 'Decide checks the epoch.',
    patches: one('decide.ts', '    assertCurrent(current, state)\n', ''),
  },
  {
    name: 'Publish without the epoch',
    clause: 'Publish checks the epoch.',
    patches: [
      ...one('publish.ts', '    assertCurrent(current, state)\n', ''),
      ...one('publish.ts', '    assertCurrent(current, run)\n', ''),
      ...one('publish.ts', 'await readCurrentRun(ports.runs, state)', 'await readRun(ports.runs, state.runId)'),
      ...one('publish.ts', 'import { assertCurrent, changeRun, readCurrentRun }', 'import { changeRun, readRun }'),
    ],
  },
  {
    name: 'RecordFailure without the epoch',
    clause: 'RecordFailure checks the epoch.',
    patches: one('record-failure.ts', '    assertCurrent(run, state)\n', ''),
  },
  {
    name: 'Close without the epoch',
    clause: 'Close checks the epoch.',
    patches: one('close.ts', 'if (run.epoch !== epoch) throw', 'if (run.epoch !== epoch && epoch < 0) throw'),
  },
  {
    name: 'a decision over another',
    clause: 'A decision is a compare-and-set.',
    patches: one('decide.ts', "if (decision || current.status !== 'parked'", "if (current.status !== 'parked'"),
  },
  {
    name: 'a time-out that records nothing',
    clause: 'The time-out is a compare-and-set like a decision.',
    patches: [
      ...one(
        'decide.ts',
        "  if (!decision) return { ...state, next: 'Park' }\n",
        "  if (!decision && ports.effects.now() >= Date.parse(run.question?.expiresAt ?? '') - EXPIRY_SLACK_MS) return advance(state, { step: 'Decide', answer: 'expired', by: null })\n  if (!decision) return { ...state, next: 'Park' }\n",
      ),
      ...one(
        'decide.ts',
        '    if (now < Date.parse(question.expiresAt) - EXPIRY_SLACK_MS) return null\n',
        '    if (now > 0) return null\n',
      ),
    ],
  },
  {
    name: 'Park does not read on entry',
    clause: 'Park reads the decision on entry.',
    patches: one('park.ts', 'if (run.decision || until <= ports.effects.now()) return', 'if (until <= ports.effects.now()) return'),
  },
  {
    name: 'Park forgets on entry',
    clause: 'Park entered again asks the same question and keeps its answer.',
    patches: one('park.ts', 'decision: again ? current.decision : null', 'decision: null'),
  },
  {
    name: 'tombstones before the end',
    clause: 'Close ends the run item first.',
    patches: one(
      'close.ts',
      '  const verdict = state.verdict ?? UNKNOWN\n',
      '  const verdict = state.verdict ?? UNKNOWN\n  for (const role of TURN_ROLES) await bury(ports, state, role)\n',
    ),
  },
  {
    name: 'transcripts deleted before the tombstones',
    clause: 'Close makes the tombstones, and then deletes ids and transcripts.',
    patches: one(
      'close.ts',
      '  for (const role of TURN_ROLES) await bury(ports, state, role)\n',
      '  for (const role of TURN_ROLES) await ports.artifacts.deleteAll(`transcripts/${role}/${state.runId}/`)\n  for (const role of TURN_ROLES) await bury(ports, state, role)\n',
    ),
  },
  {
    name: 'no tombstone where there was no item',
    clause: 'Tombstones are made where they are missing.',
    patches: one('turn-item.ts', '  if (item?.closed) return null\n  const old', '  if (!item || item.closed) return null\n  const old'),
  },
  {
    name: 'ids kept at the end',
    clause: 'At the end ids and transcripts go.',
    patches: one('turn-item.ts', 'closed: true, session: null, checkpoint: null', 'closed: true'),
  },
  {
    name: 'an expired item is none',
    clause: 'An expired item voids the session, never its fence or its turn.',
    patches: one(
      'turn-item.ts',
      'const old = item ?? emptyItem(request.runId, request.role)\n  if (old.closed)',
      'const old = item && !isVoid(item, request.now) ? { ...item } : { ...emptyItem(request.runId, request.role), rev: item?.rev ?? 0 }\n  if (old.closed)',
    ),
  },
  {
    name: 'an expired item keeps its session',
    clause: 'An expired item voids the session.',
    patches: one('turn-item.ts', '...(isVoid(old, now) && { session: null, checkpoint: null }),', ''),
  },
  {
    name: 'reads that are not strongly consistent',
    clause: 'A turn loads the item strongly consistent.',
    patches: [{ file: 'lib/stores/dynamodb/cas-item.ts', find: 'ConsistentRead: true', put: 'ConsistentRead: false' }],
  },
  {
    name: 'a question over a later one',
    clause: 'A worker that the run has gone on without changes nothing.',
    patches: one('park.ts', 'turnOf(current.question.id) > state.turn)', 'turnOf(current.question.id) > state.turn + 1e9)'),
  },
  {
    name: 'a push that is not recorded first',
    clause: 'The commit to push is recorded before it is pushed.',
    patches: one('publish.ts', '    return { publishing: { ref: target, commit: latest.commit } }\n', '    return null\n'),
  },
  {
    name: 'a resume that does not look at the branch',
    clause: 'One run a branch at a time, whoever starts it.',
    patches: one('resume.ts', 'if (!(await holdsBranch(ports, run))) return SUPERSEDED', 'if (run.epoch < 0) return SUPERSEDED'),
  },
  {
    name: 'a start that does not confirm its lock',
    clause: 'One run a branch at a time: a start that finds no run item to end yet takes no branch from a run that begins.',
    patches: one(
      'start.ts',
      'active === run.runId && !begun ? { begun: true } : null',
      'active === run.runId && begun ? { begun: true } : null',
    ),
  },
  {
    name: 'a Close that nobody takes up',
    clause: 'Close may be run again at any point, and is.',
    patches: one('end-run.ts', 'if (before.closed || (end.only', "if (before.status === 'ended' || (end.only").concat(
      one('resume.ts', 'if (before.closed) return', "if (before.status === 'ended') return"),
    ),
  },
  {
    name: 'a resume that leaves a gap in the history',
    clause: 'Every finished turn is in the history, whoever was cut off before it told.',
    patches: one('resume.ts', '  for (const item of items) if (item?.done) await ports.runs.addTurn(runId, item.done.record)\n', ''),
  },
  {
    name: 'a Close that leaves a gap in the history',
    clause: 'Every finished turn is in the history when the run has ended.',
    patches: one('close.ts', 'return item?.done ? ports.runs.addTurn(runId, item.done.record) : undefined', 'return'),
  },
  {
    name: 'a later verdict over the first',
    clause: 'One verdict is published.',
    patches: one('end-run.ts', 'const ending = current.verdict ? {} :', 'const ending ='),
  },
]

export const mutantCalled = (name: string): Mutant => {
  const found = MUTANTS.find((mutant) => mutant.name === name)
  if (!found) throw new Error(`no mutant is called ${name}; there are: ${MUTANTS.map((mutant) => mutant.name).join('; ')}`)
  return found
}

/** Makes a copy of the code with the mutant's patches and gives its folder to `use`. Errors where a patch does not match exactly once. */
export const withMutant = async <T>(mutant: Pick<Mutant, 'name' | 'patches'>, use: (root: string) => Promise<T>): Promise<T> => {
  const root = await mkdtemp(join(tmpdir(), 'reviewloop-mutant-'))
  try {
    for (const folder of ['lib', 'functions']) await cp(join(CHECKOUT, folder), join(root, folder), { recursive: true })
    await cp(join(CHECKOUT, 'package.json'), join(root, 'package.json'))
    await symlink(join(CHECKOUT, 'node_modules'), join(root, 'node_modules'), 'dir')
    for (const { file, find, put } of mutant.patches) {
      const path = join(root, file)
      const text = await readFile(path, 'utf8')
      const times = text.split(find).length - 1
      if (times !== 1) throw new Error(`${mutant.name}: in ${file} the clause stands ${times} times: ${find}`)
      await writeFile(
        path,
        text.replace(find, () => put),
      )
    }
    return await use(root)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
