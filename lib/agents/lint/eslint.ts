/** ESLint over one file. Runs in the worker. What is linted is text under a made-up name: no path, no configuration, no plugin of the repository. */
import css from '@eslint/css'
import json from '@eslint/json'
import markdown from '@eslint/markdown'
import { Linter } from 'eslint'
import tseslint from 'typescript-eslint'
import type { Kind } from './kinds.ts'
import { gitLineStarts, lineAt, lineStarts, offsetOf } from './lines.ts'
import type { RawFinding } from './rule.ts'
import { CSS_SKIPPED, RULES, SYNTAX_ERROR } from './rules.ts'

type ScriptKind = Exclude<Kind, 'python'>

/** One way to read a file of a kind; the first that parses is the one. */
interface Reading {
  name: string
  config: Linter.Config
  breaks: RegExp
}

const SCRIPT_BREAKS = /\r\n|[\r\n\u2028\u2029]/gu
const TEXT_BREAKS = /\r\n|[\r\n]/gu
const CSS_BREAKS = /\r\n|[\r\n\f]/gu

const rulesOf = (wanted: (rule: string) => boolean): Linter.RulesRecord =>
  Object.fromEntries(
    Object.entries(RULES).flatMap(([rule, { options = [] }]) =>
      rule !== SYNTAX_ERROR && rule !== CSS_SKIPPED && wanted(rule) ? [[rule, ['error', ...options]]] : [],
    ),
  )
const withPrefix = (prefix: string): Linter.RulesRecord => rulesOf((rule) => rule.startsWith(prefix))
const CORE = rulesOf((rule) => !rule.includes('/'))
/** What the TypeScript rule of the same name does better, or the compiler does. */
const { 'no-unused-vars': _unused, 'no-dupe-class-members': _members, ...CORE_FOR_TS } = CORE
const TS_RULES = { ...CORE_FOR_TS, ...withPrefix('@typescript-eslint/') }

const PLUGINS = { '@typescript-eslint': tseslint.plugin, css, json, markdown } as unknown as NonNullable<Linter.Config['plugins']>
const base: Linter.Config = {
  files: ['**/*.*'],
  plugins: PLUGINS,
  linterOptions: { reportUnusedDisableDirectives: 'off', reportUnusedInlineConfigs: 'off' },
}

const espree = (sourceType: 'module' | 'commonjs'): Reading => ({
  name: 'file.js',
  config: { ...base, rules: CORE, languageOptions: { ecmaVersion: 'latest', sourceType, parserOptions: { ecmaFeatures: { jsx: true } } } },
  breaks: SCRIPT_BREAKS,
})
const typescript = (name: string, rules: Linter.RulesRecord): Reading => ({
  name,
  config: {
    ...base,
    rules,
    languageOptions: {
      parser: tseslint.parser,
      sourceType: 'module',
      parserOptions: { ecmaFeatures: { jsx: name.endsWith('x') }, jsDocParsingMode: 'none', warnOnUnsupportedTypeScriptVersion: false },
    },
  },
  breaks: SCRIPT_BREAKS,
})
const plain = (language: string, rules: Linter.RulesRecord, breaks: RegExp, languageOptions: object = {}): Reading => ({
  name: 'file.txt',
  config: { ...base, language, rules, languageOptions: languageOptions as NonNullable<Linter.Config['languageOptions']> },
  breaks,
})

const JSON_RULES = withPrefix('json/')
/** Syntax of proposals, such as decorators, which the compiler knows and ESLint's own parser does not. */
const newerScript = typescript('file.jsx', CORE)

const READINGS: Readonly<Record<ScriptKind, readonly Reading[]>> = {
  js: [espree('module'), espree('commonjs'), newerScript],
  mjs: [espree('module'), newerScript],
  cjs: [espree('commonjs'), newerScript],
  ts: [typescript('file.ts', TS_RULES)],
  tsx: [typescript('file.tsx', TS_RULES)],
  dts: [typescript('file.d.ts', withPrefix('@typescript-eslint/no-'))],
  // comments in a .json file are meant: whoever wrote them has a reader that takes them
  json: [plain('json/json', JSON_RULES, TEXT_BREAKS), plain('json/jsonc', JSON_RULES, TEXT_BREAKS)],
  jsonc: [plain('json/jsonc', JSON_RULES, TEXT_BREAKS, { allowTrailingCommas: true })],
  json5: [plain('json/json5', JSON_RULES, TEXT_BREAKS)],
  // browsers skip what they do not know, and so does the second reading
  css: [plain('css/css', withPrefix('css/'), CSS_BREAKS), plain('css/css', withPrefix('css/'), CSS_BREAKS, { tolerant: true })],
  markdown: [plain('markdown/gfm', withPrefix('markdown/'), TEXT_BREAKS, { frontmatter: 'yaml' })],
}
/** What no browser recovers from as the author meant it. */
const CSS_BROKEN = /^Parsing error: (?:Missing (?:opening|closing) |Unterminated|Bad )/u

const linter = new Linter({ cwd: '/' })

/** A file of scripts' first edition keeps its `var`: it may have to run where there is nothing else. */
const isModern = (): boolean =>
  linter.getSourceCode()?.ast.tokens?.some(({ value }) => ['const', 'let', 'import', 'export'].includes(value)) ?? true

const rawFinding = (text: string, breaks: RegExp): ((message: Linter.LintMessage) => RawFinding) => {
  const starts = lineStarts(text, breaks)
  const gitStarts = gitLineStarts(text)
  return (message) => {
    const start = offsetOf(starts, message.line, message.column - 1, text.length)
    const end = message.endLine === undefined ? start : offsetOf(starts, message.endLine, (message.endColumn ?? 1) - 1, text.length)
    return {
      rule: message.ruleId ?? SYNTAX_ERROR,
      line: lineAt(gitStarts, start),
      endLine: lineAt(gitStarts, Math.max(start, end - 1)),
      start,
      // what the options of a rule allow is of no use to who reads the finding
      message: message.message.replace(/^Parsing error: | Allowed unused vars must match .*$/gu, ''),
      edits: message.fix ? [{ start: message.fix.range[0], end: message.fix.range[1], text: message.fix.text }] : [],
    }
  }
}

const isFatal = (messages: readonly Linter.LintMessage[]): boolean => messages.some((message) => message.fatal)

const read = (reading: Reading, text: string): Linter.LintMessage[] =>
  linter.verify(text, [reading.config], { filename: reading.name, allowInlineConfig: false, reportUnusedDisableDirectives: false })

/** Findings of one file. Throws what a rule or a parser throws. */
export const lintScript = (kind: ScriptKind, text: string): RawFinding[] => {
  let farthest: { messages: Linter.LintMessage[]; breaks: RegExp; at: number } | null = null
  for (const reading of READINGS[kind]) {
    const messages = read(reading, text)
    if (!isFatal(messages)) {
      const modern = !['js', 'cjs'].includes(kind) || isModern()
      const skipped = kind === 'css' && farthest ? farthest.messages.map((message) => ({ ...message, ruleId: CSS_SKIPPED })) : []
      return [...messages.filter((message) => modern || message.ruleId !== 'no-var'), ...skipped].map(rawFinding(text, reading.breaks))
    }
    const fatal = messages.filter((message) => message.fatal)
    if (kind === 'css' && fatal.some((message) => CSS_BROKEN.test(message.message))) return fatal.map(rawFinding(text, reading.breaks))
    const at = Math.max(...fatal.map((message) => message.line))
    if (!farthest || at > farthest.at) farthest = { messages: fatal, breaks: reading.breaks, at }
  }
  return farthest ? farthest.messages.map(rawFinding(text, farthest.breaks)) : []
}
