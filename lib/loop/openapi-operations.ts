/** What each route of the API takes, answers and refuses, for its description. */
import type * as z from 'zod'
import type { ApiRoute } from '../names.ts'
import { ERRORS, type ErrorName } from './errors.ts'
import type { SchemaName } from './openapi-schemas.ts'
import * as requests from './requests.ts'

type Json = Record<string, unknown>

export const ref = (name: SchemaName): Json => ({ $ref: `#/components/schemas/${name}` })
export const content = (type: string, schema: Json): Json => ({ content: { [type]: { schema } } })
const answer = (description: string, name: SchemaName): Json => ({ description, ...content('application/json', ref(name)) })

/** Refusals by status; each says by which names of the catalogue. */
export const problems = (names: readonly ErrorName[]): Json => {
  const statuses = [...new Set(names.map((name) => ERRORS[name].http))].toSorted((a, b) => a - b)
  return Object.fromEntries(
    statuses.map((status) => {
      const rows = names.filter((name) => ERRORS[name].http === status)
      const description = rows.map((name) => `${name}: ${ERRORS[name].meaning}`).join(' ')
      return [String(status), { description, ...content('application/problem+json', ref('Problem')) }]
    }),
  )
}

export const EVERYWHERE = ['NotAuthenticated', 'Unexpected', 'StoreUnavailable'] as const satisfies readonly ErrorName[]
export const OF_TOKENS = ['CallerRefused', 'IssuerUnavailable'] as const satisfies readonly ErrorName[]
const STARTING = [
  'BadRequest',
  'BadSettings',
  'RepositoryNotAllowed',
  'BudgetExceeded',
  'BranchGone',
  'NotTheBranchHead',
  'FetchRefused',
  'FetchFailed',
  'StoreConflict',
] as const satisfies readonly ErrorName[]

interface Operation {
  summary: string
  query?: z.ZodObject
  body?: SchemaName
  answers: Json
  errors: readonly ErrorName[]
}

const patch: Json = { description: 'The fix commits as a patch that `git apply` takes.', type: 'string', contentMediaType: 'text/x-diff' }
const REPORT: Json = {
  200: {
    description: 'The report, by `format` or else by `Accept`. While the run goes on, as far as it has come.',
    content: {
      'application/json': { schema: ref('Report') },
      'application/sarif+json': { schema: { type: 'object' } },
      'text/markdown; charset=utf-8': { schema: { type: 'string' } },
      'text/x-diff': { schema: patch },
    },
  },
  303: {
    description: 'A large report: where it can be fetched for some minutes, without credentials.',
    headers: { location: { schema: { type: 'string' } } },
  },
}

const starting = (body: SchemaName): Operation => ({
  summary: 'Starts a run. The same request again is shown the run there is.',
  body,
  answers: { 200: answer('There was this run before.', 'Started'), 201: answer('The run was started.', 'Started') },
  errors: STARTING,
})

const showing: Operation = {
  summary: 'A run and its turns.',
  answers: { 200: answer('The run.', 'RunWithTurns') },
  errors: ['RunNotFound'],
}
const reporting: Operation = {
  summary: 'The report of a run.',
  query: requests.reportQuery,
  answers: REPORT,
  errors: ['BadRequest', 'RunNotFound', 'NoPatch', 'ArtifactLost'],
}

/** By the route without the part that names a CI. */
const OPERATIONS: Record<string, Operation> = {
  'POST /runs': starting('StartBody'),
  'POST /ci/runs': starting('CiStartBody'),
  'GET /runs': {
    summary: 'Runs, newest first. A page may be short and not the last: go on until `next` is null.',
    query: requests.listQuery,
    answers: { 200: answer('A page.', 'RunList') },
    errors: ['BadRequest'],
  },
  'GET /runs/{id}': showing,
  'GET /ci/runs/{id}': showing,
  'GET /runs/{id}/report': reporting,
  'GET /ci/runs/{id}/report': reporting,
  'POST /runs/{id}/decision': {
    summary: 'Answers a parked run. The same decision again is answered alike; another one is StaleDecision.',
    body: 'DecisionBody',
    answers: { 200: answer('The run, with the decision.', 'Run') },
    errors: ['BadRequest', 'BadDecision', 'RoundsUsedUp', 'RunNotFound', 'StaleDecision', 'StoreConflict', 'ArtifactLost'],
  },
  'POST /runs/{id}/abort': {
    summary: 'Ends a run. Its fix commits are kept as a patch.',
    answers: { 200: answer('The run, which is being ended.', 'Run') },
    errors: ['RunNotFound', 'RunEnded', 'StoreConflict'],
  },
  'POST /uploads': {
    summary: 'Offers an address to put a git bundle under, for a repository that is not fetched.',
    body: 'UploadBody',
    answers: { 201: answer('Where, and with which headers.', 'Upload') },
    errors: ['BadRequest', 'RepositoryNotAllowed'],
  },
  'GET /health': { summary: 'Whether the API is there, and for what.', answers: { 200: answer('It is.', 'Health') }, errors: [] },
  'GET /openapi.json': {
    summary: 'This description.',
    answers: { 200: { description: 'OpenAPI 3.1.', ...content('application/json', { type: 'object' }) } },
    errors: [],
  },
}

export const operationOf = (route: ApiRoute): Operation => {
  const operation = OPERATIONS[route.replace(/\/ci\/\w+\//, '/ci/')]
  if (!operation) throw new Error(`no operation for ${route}`)
  return operation
}
