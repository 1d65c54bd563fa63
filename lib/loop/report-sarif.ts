/** The report as SARIF 2.1.0, for code-scanning pages and editors. */
import type { Severity, TrackedFinding } from './finding.ts'
import type { Report } from './report.ts'

const LEVELS: Record<Severity, 'error' | 'warning' | 'note'> = { error: 'error', warning: 'warning', info: 'note' }

/** A path as a relative URI. A first part with a colon would read as a scheme, and it is encoded like the rest. */
const uriOf = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

/** What a declined finding is in SARIF: there, but accepted by a person. */
const suppressionOf = ({ history }: TrackedFinding): { kind: 'external'; status: 'accepted'; justification: string } => {
  const { by, note } = history.findLast(({ event }) => event === 'declined') ?? {}
  return { kind: 'external', status: 'accepted', justification: [`Declined${by ? ` by ${by}` : ''}.`, note].filter(Boolean).join(' ') }
}

/** A SARIF log of what is open or was declined; what was fixed or withdrawn is no longer there to be shown. Plain data. */
export const renderSarif = (report: Report) => {
  const standing = report.findings.filter(({ status }) => status === 'open' || status === 'declined')
  const rules = [...new Set(standing.map(({ rule }) => rule))]
  const { repository, branch, head } = report.request
  const commit = report.fixes?.commit ?? head
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'reviewloop', rules: rules.map((id) => ({ id })) } },
        automationDetails: { id: `reviewloop/${report.run}` },
        invocations: [
          {
            executionSuccessful: report.outcome !== 'failed',
            startTimeUtc: report.startedAt,
            ...(report.endedAt !== null && { endTimeUtc: report.endedAt }),
            toolExecutionNotifications: [
              ...report.skipped.map(({ file, reason }) => ({
                level: 'warning',
                message: { text: `Not looked at: ${reason}` },
                locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) } } }],
              })),
              ...report.notices.map((text) => ({ level: 'note', message: { text } })),
              ...(report.error ? [{ level: 'error', message: { text: `${report.error.name}: ${report.error.message}` } }] : []),
            ],
          },
        ],
        ...(/^https?:\/\//.test(repository) && URL.canParse(repository)
          ? { versionControlProvenance: [{ repositoryUri: repository, revisionId: commit, ...(branch !== null && { branch }) }] }
          : {}),
        results: standing.map((finding) => ({
          ruleId: finding.rule,
          ruleIndex: rules.indexOf(finding.rule),
          level: LEVELS[finding.severity],
          message: { text: finding.text },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(finding.file), uriBaseId: '%SRCROOT%' },
                ...(finding.line !== undefined && { region: { startLine: finding.line, endLine: finding.endLine ?? finding.line } }),
              },
            },
          ],
          partialFingerprints: { 'reviewloopFinding/v1': finding.id },
          ...(finding.status === 'declined' && { suppressions: [suppressionOf(finding)] }),
        })),
      },
    ],
  }
}
