/** What a schema says of data that does not fit it, for people. */
import type * as z from 'zod'
import { oneLine } from './redact.ts'

/** The first thing that is wrong: where, and what. One line, however long the names are that the data came with. */
export const firstIssue = ({ issues: [issue] }: Pick<z.ZodError, 'issues'>): string => {
  const path = oneLine(issue?.path.map(String).join('.') ?? '')
  return `${path}${path && ': '}${oneLine(issue?.message ?? 'does not fit')}`
}
