/** In which format a report is asked for: the parameter, else what the caller accepts, else JSON. */
import type { REPORT_NAMES } from '../loop/requests.ts'
import type { ReportFormat } from '../loop/run-report.ts'

type ReportName = (typeof REPORT_NAMES)[number]

export const FORMATS: Record<ReportName, { extension: ReportFormat; contentType: string; accepts: readonly string[] }> = {
  json: { extension: 'json', contentType: 'application/json', accepts: ['application/json', 'application/*', '*/*'] },
  sarif: { extension: 'sarif', contentType: 'application/sarif+json', accepts: ['application/sarif+json'] },
  markdown: { extension: 'md', contentType: 'text/markdown; charset=utf-8', accepts: ['text/markdown', 'text/*'] },
  patch: { extension: 'patch', contentType: 'text/x-diff', accepts: ['text/x-diff', 'text/x-patch'] },
}

/** Types with their weights, the dearest first; of equal ones the first named. */
const acceptedTypes = (header: string): string[] =>
  header
    .split(',')
    .map((entry) => {
      const [type = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
      const weight = parameters.map((parameter) => /^q=([\d.]{1,5})$/.exec(parameter)?.[1]).find(Boolean)
      return { type, weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ type }) => type)

export const formatOf = (parameter: ReportName | undefined, accept: string | undefined): ReportName => {
  if (parameter) return parameter
  const names = Object.keys(FORMATS) as ReportName[]
  for (const type of acceptedTypes(accept ?? '')) {
    const name = names.find((candidate) => FORMATS[candidate].accepts.includes(type))
    if (name) return name
  }
  return 'json'
}
