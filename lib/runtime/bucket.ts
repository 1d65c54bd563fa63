/** The artifact bucket, as the environment names it. */
import { S3Client } from '@aws-sdk/client-s3'
import type { ArtifactStore } from '../loop/ports.ts'
import { ENV } from '../names.ts'
import { s3Artifacts } from '../stores/s3/artifacts.ts'
import { requireEnv } from './environment.ts'

export const makeArtifacts = (): ArtifactStore => s3Artifacts({ client: new S3Client(), bucket: requireEnv(ENV.bucket) })
