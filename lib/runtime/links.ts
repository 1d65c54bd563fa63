/** Addresses of objects of the artifact bucket, to read and to put. */
import { S3Client } from '@aws-sdk/client-s3'
import type { ArtifactLinks, UploadOffers } from '../loop/ports.ts'
import { ENV } from '../names.ts'
import { s3Links } from '../stores/s3/links.ts'
import { s3Uploads } from '../stores/s3/uploads.ts'
import { requireEnv } from './environment.ts'

export const makeLinks = (): ArtifactLinks => s3Links({ client: new S3Client(), bucket: requireEnv(ENV.bucket) })

export const makeUploads = (): UploadOffers => s3Uploads({ client: new S3Client(), bucket: requireEnv(ENV.bucket) })
