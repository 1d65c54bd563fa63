/** What Prepare leaves for every later step: the snapshot, the resolved policy, and what people should be told. */
import * as z from 'zod'
import { declinedFinding } from './finding.ts'
import { policy } from './policy.ts'
import type { ArtifactStore } from './ports.ts'
import { readJson, writeJson } from './artifact.ts'
import { commitId } from './run.ts'
import { sourceInfo } from './workspace.ts'

export const preparedSource = z.strictObject({
  info: sourceInfo,
  policy,
  /** Ordered agents by role: the policy's, or the deployment's. */
  notices: z.array(z.string()),
  /** Findings that published runs fixed on this branch: found again, a person took the fix out. */
  fixedBefore: z.array(z.string()),
  /** Of a review by the clock: where the branch of the nights' fixes was, and whether its fixes were carried over. */
  night: z.strictObject({ tip: commitId.nullable(), carried: z.boolean() }).optional(),
  /** Messages of the change's commits, the newest first: data, like all text of a repository. */
  messages: z.array(z.string()).default([]),
  /** Findings that people declined on this branch in earlier runs. */
  declinedBefore: z.array(declinedFinding).default([]),
})
export type PreparedSource = z.infer<typeof preparedSource>

export const sourceKey = (runId: string, nonce: string, part: 'json' | 'pack'): string => `source/${runId}/${nonce}.${part}`

/** Errors: ArtifactLost. */
export const loadSource = (artifacts: ArtifactStore, key: string): Promise<PreparedSource> => readJson(artifacts, key, preparedSource)

export const storeSource = (artifacts: ArtifactStore, key: string, source: PreparedSource): Promise<void> =>
  writeJson(artifacts, key, source)
