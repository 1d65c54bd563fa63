/** The schemas of the API's description, each under a name of its own. */
import * as z from 'zod'
import * as api from './api.ts'
import { decision, question } from './decision.ts'
import { trackedFinding } from './finding.ts'
import { runSummary } from './items.ts'
import { turnRecord } from './record.ts'
import * as requests from './requests.ts'
import { runRequest, verdict } from './run.ts'

type Json = Record<string, unknown>

const BODIES = {
  StartBody: requests.startBody,
  CiStartBody: requests.ciStartBody,
  DecisionBody: requests.decisionBody,
  UploadBody: requests.uploadBody,
}
const ANSWERS = {
  Problem: api.problemAnswer,
  Started: api.startAnswer,
  Run: api.runAnswer,
  RunWithTurns: api.showAnswer,
  RunList: api.listAnswer,
  Report: api.reportAnswer,
  Health: api.healthAnswer,
  Upload: api.uploadAnswer,
}
/** Parts of several answers, described once. */
const PARTS = {
  Request: runRequest,
  Verdict: verdict,
  Question: question,
  Decision: decision,
  Summary: runSummary,
  View: api.runView,
  Turn: turnRecord,
  Finding: trackedFinding,
}
export type SchemaName = keyof typeof BODIES | keyof typeof ANSWERS

/** A body as a caller may write it, with what may be left out; an answer as it is sent, with all that stands in it. */
const schemasOf = (schemas: Record<string, z.ZodType>, io: 'input' | 'output'): Json => {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id })
  const made = z.toJSONSchema(registry, { io, unrepresentable: 'any', uri: (id) => `#/components/schemas/${id}` }).schemas
  return Object.fromEntries(Object.entries(made).map(([name, { $schema: _version, $id: _id, ...schema }]) => [name, schema]))
}

export const apiSchemas = (): Json => ({ ...schemasOf(BODIES, 'input'), ...schemasOf({ ...ANSWERS, ...PARTS }, 'output') })
