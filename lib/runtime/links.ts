/** Addresses of objects of the artifact bucket. */
import { S3Client } from '@aws-sdk/client-s3'
import type { ArtifactLinks } from '../loop/ports.ts'
import { ENV } from '../names.ts'
import { s3Links } from '../stores/s3/links.ts'
import { requireEnv } from './environment.ts'

export const makeLinks = (): ArtifactLinks => s3Links({ client: new S3Client(), bucket: requireEnv(ENV.bucket) })
