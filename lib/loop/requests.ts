/** What the HTTP API takes, as schemas: the handlers check by them, and its description is made from them. */
import * as z from 'zod'
import { answer } from './decision.ts'
import { runItem } from './items.ts'
import { commitId, runRequest } from './run.ts'

/** Checksum in hexadecimal digits. */
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const branchName = z.string().min(1).max(255)

/** Body of POST /runs. */
export const startBody = z.strictObject({
  repository: z.string().min(1).max(2048),
  branch: branchName,
  /** Branch to compare with; the repository's default branch when left out. */
  base: branchName.optional(),
  /** Commit that has to be the head of the branch; its head when left out. */
  head: commitId.optional(),
  overrides: runRequest.shape.overrides.optional(),
  /** An explicit re-request: a new attempt where the same request has ended before. */
  again: z.boolean().default(false),
  /** Of a repository whose bundles are uploaded: which one, and the commit to compare with. `head` is then needed, and `base` is none. */
  bundle: z.strictObject({ upload: sha256, base: commitId }).optional(),
})
export type StartBody = z.infer<typeof startBody>

/** Parameters of GET /runs. */
export const listQuery = z.strictObject({
  repository: z.string().min(1).max(2048).optional(),
  branch: z.string().min(1).max(255).optional(),
  status: runItem.shape.status.optional(),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  after: z.string().max(100).optional(),
})

export const REPORT_NAMES = ['json', 'sarif', 'markdown', 'patch'] as const
export const reportQuery = z.strictObject({ format: z.enum(REPORT_NAMES).optional() })

/** Body of POST /runs/{id}/decision. */
export const decisionBody = z.strictObject({
  /** The question that is answered, where it has to be that one and no later. */
  question: z.string().max(100).optional(),
  answer,
})

/**
 * Body of a CI's POST …/runs. Repository, branch and base are what its token says; and it overrides no settings, for the change that is
 * reviewed may have written the job.
 */
export const ciStartBody = z.strictObject({
  /** Where no change of a branch started the job: the branch to review, else that of the job. */
  branch: startBody.shape.branch.optional(),
  /** Commit that has to be the head of the branch. A job of a pull or merge request has to name it. */
  head: startBody.shape.head,
  again: startBody.shape.again,
  /** What would wait for a person ends with changes requested. */
  ask: z.literal('never').optional(),
})
export type CiStartBody = z.infer<typeof ciStartBody>

/** Bytes of a bundle. */
const MOST_UPLOAD = 200_000_000

/** Body of POST /uploads. */
export const uploadBody = z.strictObject({ repository: startBody.shape.repository, bytes: z.int().min(1).max(MOST_UPLOAD), sha256 })
export type UploadBody = z.infer<typeof uploadBody>
