/** What the HTTP API answers, as schemas, from which its description is made; the tests hold every answer to it. */
import * as z from 'zod'
import { runItem, runSummary } from './items.ts'
import { turnRecord } from './record.ts'
import { report } from './report.ts'
import { forgeView } from './view.ts'

/** Every refusal: `title` is the row of the error catalogue. */
export const problemAnswer = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  remedy: z.string(),
})

/** What may be seen of a run: no task token, nothing of the store's own. */
export const runView = runItem.omit({ token: true, nonce: true, rev: true, ttl: true, closed: true })
const version = z.literal(1)

/** A run without its history. */
export const runAnswer = z.strictObject({ version, run: runView })
export const startAnswer = z.strictObject({ version, run: runView, started: z.boolean() })
export const showAnswer = z.strictObject({ version, run: runView, turns: z.array(turnRecord), forge: forgeView.nullable() })
export const listAnswer = z.strictObject({ version, runs: z.array(runSummary), next: z.string().nullable() })
export const reportAnswer = report
export const uploadAnswer = z.strictObject({
  version,
  upload: z.string(),
  method: z.literal('PUT'),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  expiresAt: z.iso.datetime(),
})
export const healthAnswer = z.strictObject({
  version,
  status: z.literal('ok'),
  stage: z.string(),
  /** Addresses of the repositories that it reviews. */
  repositories: z.array(z.string()),
})
export type HealthAnswer = z.infer<typeof healthAnswer>
