/** The lint agent over files in memory. Each turn starts a worker, so the cases of one kind share a turn. */
import { describe, expect, it } from 'vitest'
import { createLintAgent, type LintOptions } from '../../lib/agents/lint/agent.ts'
import type { Agent, AgentTurn } from '../../lib/loop/agent.ts'
import type { DiffFile } from '../../lib/loop/diff.ts'
import { fixOutput, reviewOutput, type FixOutput, type ReviewOutput } from '../../lib/loop/output.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask, tracked } from '../support/agent-turn.ts'
import { diffTrees, fileDiff, MemoryFiles } from '../support/memory-files.ts'

const agent = createLintAgent()

const reviewed = async (turn: AgentTurn, by: Agent = agent): Promise<ReviewOutput> => {
  const result = await by.run(turn)
  if (result.kind !== 'done') throw new Error(`${result.kind}: ${'reason' in result ? result.reason : ''}`)
  return reviewOutput.parse(result.output)
}
const fixed = async (turn: AgentTurn, by: Agent = agent): Promise<FixOutput> => {
  const result = await by.run(turn)
  if (result.kind !== 'done') throw new Error(`${result.kind}: ${'reason' in result ? result.reason : ''}`)
  return fixOutput.parse(result.output)
}
const newFiles = (files: MemoryFiles): DiffFile[] => diffTrees(new MemoryFiles(), files)
const review = (files: MemoryFiles, diff = newFiles(files)): Promise<ReviewOutput> => reviewed(agentTurn(reviewTask(diff), files))
const shown = ({ findings }: ReviewOutput): string[] => findings.map(({ file, line, rule, action }) => `${file}:${line} ${rule} ${action}`)
const reasons = ({ skipped }: ReviewOutput): Record<string, string> => Object.fromEntries(skipped.map(({ file, reason }) => [file, reason]))

describe('what is found', () => {
  it('finds defects in every language, at their lines', async () => {
    const files = new MemoryFiles({
      'a.ts': "import { x, y } from './x'\nvar n: number = x\nexport const f = () => n == 1\nenum E { A = 1, B = 1 }\nexport { E }\n",
      'b.js': 'export const o = { a: 1, a: 2 }\nexport let p = !!o ? 1 : 2\nif (!!p) debugger\n',
      'c.jsx': "import { Card } from './card.jsx'\nexport const App = () => <Card />\n",
      'd.py': "import os\ndef f(x):\n    if x is 'a':\n        return undefined_name\n    return not x in '\\d'\n",
      'e.json': '{ "a": 1,\n  "a": 2 }\n',
      'tsconfig.json': '{ "a": 1, // why\n}\n',
      'f.css': 'a { colr: red }\n@media print { a { color: red } }\n@import "x.css";\nb { color red }\n',
      'g.md': '# A\n\n##B\n\n(here)[https://example.org/]\n',
    })
    const output = await review(files)
    expect(output.findings[0]?.text).toBe("'y' is defined but never used.")
    expect(shown(output)).toEqual([
      'a.ts:1 @typescript-eslint/no-unused-vars auto-fix',
      'a.ts:2 no-var auto-fix',
      'a.ts:4 @typescript-eslint/no-duplicate-enum-values ask-user',
      'b.js:1 no-dupe-keys ask-user',
      'b.js:2 prefer-const auto-fix',
      'b.js:2 no-extra-boolean-cast auto-fix',
      'b.js:3 no-extra-boolean-cast auto-fix',
      'b.js:3 no-debugger ask-user',
      'd.py:1 ruff/F401 auto-fix',
      'd.py:3 ruff/F632 auto-fix',
      'd.py:4 ruff/F821 ask-user',
      'd.py:5 ruff/W605 auto-fix',
      'd.py:5 ruff/E713 auto-fix',
      'e.json:2 json/no-duplicate-keys ask-user',
      'f.css:1 css/no-invalid-properties no-op',
      'f.css:3 css/no-invalid-at-rule-placement ask-user',
      'f.css:4 css-skipped no-op',
      'f.css:4 css-skipped no-op',
      'g.md:3 markdown/no-missing-atx-heading-space auto-fix',
      'g.md:5 markdown/no-reversed-media-syntax auto-fix',
    ])
  })

  it('reports what lies on changed lines, and nothing else', async () => {
    const before = new MemoryFiles({
      'a.js': 'export const o = { a: 1, a: 2 }\nexport let p = 1\n',
      'b.js': 'debugger\nexport const b = 1\n',
    })
    const after = new MemoryFiles({ 'a.js': 'export const o = { a: 1, a: 2 }\nexport let p = 2\n', 'b.js': 'debugger\n' })
    expect(shown(await review(after, diffTrees(before, after)))).toEqual(['a.js:2 prefer-const auto-fix'])
  })

  it('counts lines as git does, whatever else a tool takes for the end of one', async () => {
    const odd = '\u2028/* \f \v */ \r\n'
    const files = new MemoryFiles({
      'a.js': `/* \u2028 \u2029 */\r\nexport let a = 1\n/*\r\r*/\nexport let b = 1\n`,
      'b.py': `# \u2028 \f\nx = "\v"\r\nimport os\n\r\rimport sys\n`,
      'c.css': `/*${odd}*/\na { colr: red }\n`,
      'd.json': `{ "x": "\u2028",\r\n"a": 1,\n"a": 2 }`,
      'e.md': `# A \u2028 b\r\n\n\f\n##B\n`,
    })
    expect(shown(await review(files))).toEqual([
      'a.js:2 prefer-const auto-fix',
      'a.js:4 prefer-const auto-fix',
      'b.py:3 ruff/F401 auto-fix',
      'b.py:4 ruff/F401 auto-fix',
      'c.css:3 css/no-invalid-properties no-op',
      'd.json:3 json/no-duplicate-keys ask-user',
      'e.md:4 markdown/no-missing-atx-heading-space auto-fix',
    ])
  })

  it('obeys no suppression and no configuration in the change', async () => {
    const files = new MemoryFiles({
      'a.js': '/* eslint-disable */\nexport let a = 1 // eslint-disable-line\n/* eslint prefer-const: 0 */\nexport let b = 1\n',
      'b.py':
        '# ruff: noqa\nimport os  # noqa: F401\nimport sys\nx = "# noqa"\nprint(f"noqa")  # NOQA\n# ruff: disable[F541]\nprint(f"b")\n',
      'c.json': '{ "a": 1, // eslint-disable-line\n"a": 2 }\n',
      'd.css': '/* eslint-disable */\na { colr: red }\n',
      'e.md': '<!-- eslint-disable -->\n\n##B\n',
      'eslint.config.js': 'export default [{ rules: { "prefer-const": "off" } }]\n',
      'ruff.toml': 'lint.select = []\n',
    })
    expect(shown(await review(files))).toEqual([
      'a.js:2 prefer-const auto-fix',
      'a.js:4 prefer-const auto-fix',
      // a mark that an import is meant is no reason for silence, but one not to take it out unasked
      'b.py:2 ruff/F401 ask-user',
      'b.py:3 ruff/F401 auto-fix',
      'b.py:5 ruff/F541 auto-fix',
      'b.py:7 ruff/F541 auto-fix',
      'c.json:2 json/no-duplicate-keys ask-user',
      'd.css:2 css/no-invalid-properties no-op',
      'e.md:3 markdown/no-missing-atx-heading-space auto-fix',
    ])
  })

  it('reports one syntax error where the change made it, in each language', async () => {
    const files = new MemoryFiles({
      'a.js': 'const a = ;\nfoo(\n',
      'b.ts': 'const a: = 1\n',
      'c.py': 'def f(:\n  pass\n',
      'd.json': '{ "a": 1,\n}\n',
      'e.css': 'a { color: red\n',
      'f.py': 'y = 1\nx = (1,\n',
    })
    const output = await review(files)
    expect(shown(output)).toEqual(
      ['a.js:1', 'b.ts:1', 'c.py:1', 'd.json:2', 'e.css:1', 'f.py:2'].map((place) => `${place} syntax-error ask-user`),
    )
    expect(output.findings.every(({ severity }) => severity === 'error')).toBe(true)
  })

  it('lets be what is right: scripts of the first edition, JSON with comments, hacks for old browsers, decorators, prose', async () => {
    const files = new MemoryFiles({
      'es5.js': 'var a = 1\nmodule.exports = function () { return a }\n',
      'return.cjs': 'if (module.parent) return\nexports.a = 1\n',
      'b.json': '{ "a": 1 // why\n}\n',
      'c.css':
        '.a { filter: progid:DXImageTransform.Microsoft.gradient(startColorstr="#1e5799", endColorstr="#7db9e8") }\n.b { color: var(--b) }\n',
      'd.js': 'export class A { @observable accessor b = 1 }\n',
      'e.md': '#12 is fixed, f(x)[0] too\n\n- [ ] [x] [!NOTE]\n',
      'pkg/__init__.py': 'from .a import b\n',
      'f.py': 'try:\n    import fast\nexcept ImportError:\n    pass\nmatch 1:\n    case 1:\n        print(unicode)\n',
      'g.py':
        'try:\n    from a import b\nexcept ImportError:\n    from c import b\nfrom x import Literal\ndef f(a: Literal["head"]): ...\n',
      'compat.py': 'from urllib.parse import quote\n',
      'loop.js': 'export const f = (a, b) => {\n  while ((b = a.next())) a.push(b)\n  return b == a\n}\n',
      'late.ts': 'let a!: number\nexport const b = [a]\n',
      'react.jsx': "import React from 'react'\nexport const A = () => <div />\n",
    })
    const output = await review(files)
    expect(shown(output)).toEqual([])
    expect(output.skipped).toEqual([])
  })
})

describe('what is not looked at', () => {
  const long = `export const a = '${'x'.repeat(20_001)}'\n`
  const files = new MemoryFiles({
    'big.js': '// x\n'.repeat(110_000),
    'long.js': long,
    'binary.js': new Uint8Array([0x61, 0, 0x62]),
    'utf16.js': new Uint8Array([0xff, 0xfe, 0x61, 0]),
    'latin.js': new Uint8Array([0x61, 0x3d, 0xe9, 0x0a]),
    'package-lock.json': '{}\n',
    'lib.min.js': 'a\n',
    'a.js.map': '{}\n',
    Dockerfile: 'FROM x\n',
    'a.yml': 'a: 1\n',
    'flow.js': '// @flow\nimport typeof T from "t"\nexport type U = {| a: number |}\n',
    'deep.py': `x = ${'('.repeat(19_000)}\n`,
    'elsewhere.js': 'export const a = 1\nfunction f( {\n',
    'link.js': 'target.js',
    'clean.js': 'export const a = 1\n',
  })
  const entry = (path: string, more: Partial<DiffFile> = {}): DiffFile => ({ ...fileDiff(path, null, 'x\n'), ...more })

  it('is disclosed with the reason, and what has nothing to read is not', async () => {
    const diff = [
      ...[
        'big.js',
        'long.js',
        'binary.js',
        'utf16.js',
        'latin.js',
        'package-lock.json',
        'lib.min.js',
        'a.js.map',
        'Dockerfile',
        'a.yml',
        'deep.py',
        'gone.js',
      ].map((path) => entry(path)),
      fileDiff('flow.js', null, files.text('flow.js')),
      fileDiff('elsewhere.js', 'function f( {\n', files.text('elsewhere.js')),
      entry('omitted.js', { omitted: 'too large', hunks: [] }),
      entry('link.js', { newMode: '120000' }),
      fileDiff('deleted.yml', 'a: 1\n', null),
      entry('renamed.yml', { status: 'renamed', oldPath: 'b.yml', hunks: [] }),
      entry('run.sh', { status: 'mode-changed', newMode: '100755', hunks: [] }),
      entry('clean.js'),
    ]
    const output = await review(files, diff)
    expect(output.findings).toEqual([])
    expect(reasons(output)).toEqual({
      'big.js': 'over 512 KB',
      'long.js': 'a line over 20,000 characters',
      'binary.js': 'binary',
      'utf16.js': 'UTF-16 text, which no linter here reads',
      'latin.js': 'not UTF-8 text',
      'package-lock.json': 'generated',
      'lib.min.js': 'generated',
      'a.js.map': 'generated',
      Dockerfile: 'no linter for files of this kind',
      'a.yml': 'no linter for .yml files',
      'flow.js': 'Flow types, which no linter here reads',
      'deep.py': expect.stringContaining('could not be checked'),
      'gone.js': 'not a regular file',
      'elsewhere.js': 'it does not parse, for what stands on line 2, which the change does not touch',
      'omitted.js': 'too large',
      'link.js': 'a symbolic link',
    })
  })
})

describe('the fixer', () => {
  const found = async (files: MemoryFiles) => tracked((await review(files)).findings, files)

  it('fixes what is safe, for the findings given and no others, and leaves the rest of the bytes alone', async () => {
    const files = new MemoryFiles({
      'a.ts': '\uFEFFimport { x, y } from "./x"\r\nvar n = x\r\nvar m = n == n\r\nexport { m }',
      'b.py': "import os, sys\nif not 'é' in 'ü😀': print(f'x')\n",
      'c.md': '# A\n\n##B\n\n(here)[https://example.org/]',
      'd.js': 'export let p = 1\nexport let q = 2\n',
    })
    const given = (await found(files)).filter(({ file, line }) => !(file === 'd.js' && line === 2))
    const output = await fixed(agentTurn(fixTask(newFiles(files), given), files))
    expect(files.text('a.ts')).toBe('\uFEFFimport { x } from "./x"\r\nlet n = x\r\nlet m = n == n\r\nexport { m }')
    expect(files.text('b.py')).toBe("if 'é' not in 'ü😀': print('x')\n")
    expect(files.text('c.md')).toBe('# A\n\n## B\n\n[here](https://example.org/)')
    expect(files.text('d.js')).toBe('export const p = 1\nexport let q = 2\n')
    expect(output.results.map(({ id, status }) => [given.find((one) => one.id === id)?.rule, status])).toEqual(
      given.map(({ rule, action }) => [rule, action === 'auto-fix' ? 'fixed' : 'not-fixed']),
    )
  })

  it('says of each finding why it was not fixed', async () => {
    const files = new MemoryFiles({ 'a.js': 'debugger\nexport let a = 1\n', 'b.yml': 'a: 1\n' })
    const [debug, constant] = await found(files)
    if (!debug || !constant) throw new Error('two findings expected')
    const others = tracked(
      [
        { rule: 'no-var', severity: 'warning', file: 'a.js', line: 2, text: 'x' },
        { rule: 'a-person', severity: 'error', file: 'a.js', text: 'x' },
        { rule: 'other', severity: 'error', file: 'b.yml', line: 1, text: 'x' },
      ],
      files,
    )
    const output = await fixed(agentTurn(fixTask(newFiles(files), [debug, ...others]), files))
    expect(files.touched).toEqual([])
    expect(output.results.map(({ status, note }) => `${status}: ${note}`)).toEqual([
      'not-fixed: No fix of no-debugger is safe here: a person has to change it.',
      'not-fixed: No linter finds no-var on that line.',
      'not-fixed: It names no line, so there is nothing to find it by.',
      'not-fixed: Not looked at: no linter for .yml files.',
    ])
  })

  it('does not take the last import out of a module, nor one that is marked as meant', async () => {
    const files = new MemoryFiles({
      'a.ts': "import './x'\nimport b from 'b'\nfoo()\n",
      'c.ts': "import b from 'b'\nfoo()\n",
      'd.py': 'import os  # noqa\n',
    })
    expect(shown(await review(files))).toEqual([
      'a.ts:2 @typescript-eslint/no-unused-vars auto-fix',
      'c.ts:1 @typescript-eslint/no-unused-vars no-op',
      'd.py:1 ruff/F401 ask-user',
    ])
  })
})

describe('sessions', () => {
  const files = new MemoryFiles(Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.js`, `export let ${name} = 1\n`])))
  const said = (turn: AgentTurn): { turn: AgentTurn; messages: string[] } => {
    const messages: string[] = []
    return { turn: { ...turn, progress: (message) => void messages.push(message) }, messages }
  }
  const session = { mode: 'resume' as const, id: 's' }

  it('looks again only at what changed, and accounts for every finding', async () => {
    const transcript = new MemoryTranscript()
    const first = said(agentTurn(reviewTask(newFiles(files)), files, { session: { mode: 'start', id: 's' }, transcript }))
    const before = await reviewed(first.turn)
    expect(first.messages).toEqual(['linted 3 of 3 files, 0 unchanged'])

    const after = files.copy()
    await after.write('b.js', new TextEncoder().encode('// new\nexport const b = 1\nexport let d = 1\n'))
    const outstanding = tracked(before.findings, files)
    const second = said(agentTurn(reviewTask(newFiles(after), outstanding), after, { turn: 3, session, transcript }))
    const output = await reviewed(second.turn)
    expect(second.messages).toEqual(['linted 1 of 3 files, 2 unchanged'])
    expect(output.summary).toBe('Linted 1 of 3 files, 2 unchanged: 3 findings.')
    expect(output.accounts.map(({ status }) => status)).toEqual(['open', 'fixed', 'open'])
    expect(shown(output)).toEqual(['a.js:1 prefer-const auto-fix', 'b.js:3 prefer-const auto-fix', 'c.js:1 prefer-const auto-fix'])

    const third = said(agentTurn(reviewTask(newFiles(after), outstanding), after, { turn: 5, session, transcript }))
    expect(await reviewed(third.turn)).toMatchObject({ findings: output.findings, accounts: output.accounts })
    expect(third.messages).toEqual(['linted 0 of 3 files, 3 unchanged'])
  })

  it('looks again at a file of which other lines changed', async () => {
    const transcript = new MemoryTranscript()
    const text = 'export let a = 1\nexport let b = 1\n'
    const one = new MemoryFiles({ 'a.js': text })
    await reviewed(
      agentTurn(reviewTask([fileDiff('a.js', 'export let a = 1\n', text)]), one, { session: { mode: 'start', id: 's' }, transcript }),
    )
    const output = await reviewed(agentTurn(reviewTask([fileDiff('a.js', 'export let b = 1\n', text)]), one, { session, transcript }))
    expect(shown(output)).toEqual(['a.js:1 prefer-const auto-fix'])
  })

  it('says nothing of findings in a file that it cannot look at, or of rules that are not its own', async () => {
    const outstanding = tracked(
      [
        { rule: 'prefer-const', severity: 'warning', file: 'a.js', line: 1, text: 'x' },
        { rule: 'logic', severity: 'error', file: 'b.js', line: 1, text: 'x' },
        { rule: 'prefer-const', severity: 'warning', file: 'c.js', line: 1, text: 'x' },
      ],
      files,
    )
    const after = new MemoryFiles({ 'a.js': new Uint8Array([0]), 'b.js': 'export const b = 1\n', 'c.js': 'export const c = 1\n' })
    const output = await reviewed(
      agentTurn(
        reviewTask(
          ['a.js', 'b.js', 'c.js'].map((path) => fileDiff(path, null, 'x\n')),
          outstanding,
        ),
        after,
      ),
    )
    expect(output.accounts).toEqual([{ id: outstanding[2]?.id, status: 'fixed' }])
  })

  it('does not try again what did not help', async () => {
    const transcript = new MemoryTranscript()
    const one = new MemoryFiles({ 'a.js': 'export let a = 1\ndebugger\n' })
    const findings = tracked((await review(one)).findings, one)
    const task = fixTask(newFiles(one), findings)
    await fixed(agentTurn(task, one, { turn: 2, session: { mode: 'start', id: 's' }, transcript }))
    const again = new MemoryFiles({ 'a.js': 'export let a = 1\ndebugger\n' })
    const output = await fixed(agentTurn(task, again, { turn: 4, session, transcript }))
    expect(again.touched).toEqual([])
    expect(output.results.map(({ status, note }) => `${status}: ${note}`)).toEqual([
      'not-fixed: Tried in turn 2, and it did not help.',
      'not-fixed: As in turn 2: No fix of no-debugger is safe here: a person has to change it.',
    ])
  })

  it('fixes a declaration inside the declaration whose fix would swallow it, and says fixed only of what is', async () => {
    const lines = [
      'export function f() {',
      '  var outer = () => {',
      '    var inner = Math.random()',
      '    inner += 1',
      '    return inner',
      '  }',
    ]
    const text = [...lines, '  outer = outer.bind(null)', '  return outer', '}', ''].join('\n')
    const one = new MemoryFiles({ 'a.js': text })
    const findings = tracked((await review(one)).findings, one).filter(({ rule }) => rule === 'no-var')
    expect(findings.map(({ line }) => line)).toEqual([2, 3])
    const output = await fixed(agentTurn(fixTask(newFiles(one), findings), one, { turn: 2, session: { mode: 'start', id: 's' } }))
    expect(output.results.map(({ status }) => status)).toEqual(['fixed', 'fixed'])
    expect((await review(one)).findings.filter(({ rule }) => rule === 'no-var')).toEqual([])
  })

  it('tries again where the fix did help and the next of several equal lines has the id now', async () => {
    const transcript = new MemoryTranscript()
    const text = 'export const f = () => {\n  let a = 1\n  return a\n}\nexport const g = () => {\n  let a = 1\n  return a\n}\n'
    const one = new MemoryFiles({ 'a.js': text })
    const [first] = tracked((await review(one)).findings, one)
    if (!first) throw new Error('nothing was found')
    await fixed(agentTurn(fixTask(newFiles(one), [first]), one, { turn: 2, session: { mode: 'start', id: 's' }, transcript }))
    const left = tracked((await review(one)).findings, one)
    expect(left.map(({ id, line }) => [id, line])).toEqual([[first.id, 6]])
    const output = await fixed(agentTurn(fixTask(newFiles(one), left), one, { turn: 4, session, transcript }))
    expect(output.results.map(({ status }) => status)).toEqual(['fixed'])
  })

  it('does not try again what the hand-over says was tried in vain', async () => {
    const one = new MemoryFiles({ 'a.js': 'export let a = 1\n' })
    const findings = tracked((await review(one)).findings, one)
    const handOver = {
      round: 2,
      outstanding: findings,
      declined: [],
      tried: [{ id: findings[0]?.id ?? '', commit: 'abcdef0123456789', note: null }],
    }
    const output = await fixed(
      agentTurn(fixTask(newFiles(one), findings, { handOver }), one, { turn: 4, session: { mode: 'start', id: 's' } }),
    )
    expect(output.results).toEqual([
      { id: findings[0]?.id, status: 'not-fixed', note: 'Tried before, in commit abcdef0123, and it did not help.' },
    ])
  })

  it('continues a fix after a checkpoint with the files that are left', async () => {
    let ahead = 0
    const slow = createLintAgent({ now: () => Date.now() + ahead })
    const work = files.copy()
    const findings = tracked((await review(work)).findings, work)
    const transcript = new MemoryTranscript()
    const turn = agentTurn(fixTask(newFiles(work), findings), work, { turn: 2, session: { mode: 'start', id: 's' }, transcript })
    const write = async (path: string, bytes: Uint8Array): Promise<void> => {
      ahead = 55_000
      await work.write(path, bytes)
    }
    const edits = { write, edit: work.edit.bind(work), remove: work.remove.bind(work) }
    expect((await slow.run({ ...turn, edits })).kind).toBe('checkpoint')
    expect(work.touched).toEqual(['a.js'])
    ahead = 0
    const output = await fixed({ ...turn, turn: 3, session, prompt: { kind: 'continue', task: turn.prompt.task } }, slow)
    expect(work.touched).toEqual(['a.js', 'b.js', 'c.js'])
    expect(output).toMatchObject({ results: findings.map(({ id }) => ({ id, status: 'fixed' })), summary: 'Fixed 3 of 3 findings.' })
  })

  it('does not resume what another version left', async () => {
    const transcript = new MemoryTranscript([{ type: 'session', id: 's', role: 'reviewer', agent: 'lint', version: 'older' }])
    expect(await agent.run(agentTurn(reviewTask(newFiles(files)), files, { session, transcript }))).toMatchObject({
      kind: 'session_lost',
      reason: expect.stringContaining('older'),
    })
  })
})

describe('limits', () => {
  const slowFile = { 'slow.js': 'export const f = (a) => { if (a) { return [a, a, a, a, a] } }\n'.repeat(8000) }

  it.each<[string, Partial<LintOptions>, string]>([
    ['too long for one file', { fileMs: 5 }, 'within 1 s'],
    ['too much memory', { memoryMb: 4 }, 'too much memory'],
  ])('skips a file that takes %s, and goes on', async (_what, options, reason) => {
    const output = await reviewed(
      agentTurn(reviewTask(newFiles(new MemoryFiles(slowFile))), new MemoryFiles(slowFile)),
      createLintAgent(options),
    )
    expect(reasons(output)['slow.js']).toContain(reason)
  })

  it('fails as timed out when the turn is over before anything was done', async () => {
    const turn = agentTurn(reviewTask(newFiles(new MemoryFiles(slowFile))), new MemoryFiles(slowFile), { deadline: Date.now() + 600 })
    expect(await agent.run(turn)).toMatchObject({ kind: 'failed', error: 'AgentTimedOut' })
  })
})
