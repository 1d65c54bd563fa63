/** Messages of fix commits, from the policy's template. */
import type { Finding } from './finding.ts'
import { oneLine, redact } from './redact.ts'

export const PLACEHOLDERS = ['summary', 'count', 'round', 'run', 'findings'] as const
export type Placeholder = (typeof PLACEHOLDERS)[number]

/** What looks like a placeholder and is none, e.g. a misspelt one. */
export const unknownPlaceholders = (template: string): string[] =>
  [...template.matchAll(/\{([a-z_]+)\}/g)].flatMap(([, name = '']) => ((PLACEHOLDERS as readonly string[]).includes(name) ? [] : [name]))

export interface CommitFacts {
  run: string
  round: number
  /** The fixer's words. */
  summary: string
  findings: readonly Pick<Finding, 'rule' | 'file' | 'line' | 'text'>[]
}

const MOST_FINDINGS = 50
const LINE = 100

/**
 * The template with its placeholders filled in, in one pass, so that a finding's text fills in nothing. Findings take one line each, at
 * most 50; neither they nor the summary can start a line, and so a trailer, of their own.
 */
export const commitMessage = (template: string, { run, round, summary, findings }: CommitFacts): string => {
  const lines = findings.slice(0, MOST_FINDINGS).map(({ rule, file, line, text }) => {
    const place = line === undefined ? file : `${file}:${line}`
    return oneLine(redact(`- ${place}: ${text.split('\n')[0] ?? ''} (${rule})`), LINE)
  })
  const more = findings.length - lines.length
  const values: Record<Placeholder, string> = {
    run,
    round: String(round),
    count: String(findings.length),
    summary: oneLine(redact(summary)),
    findings: [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n'),
  }
  const filled = template.replace(/\{([a-z_]+)\}/g, (all, name: string) =>
    Object.hasOwn(values, name) ? values[name as Placeholder] : all,
  )
  const text = filled
    .split('\n')
    .map((line) => oneLine(line, 1000))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  return `${text || 'Fix review findings'}\n`
}
