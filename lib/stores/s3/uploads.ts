/** Presigned addresses to put one object under: its length and its checksum are signed, so nothing else can be put there. */
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { UploadOffers } from '../../loop/ports.ts'
import { checkKey } from '../artifact-key.ts'

const SECONDS = 900

export const s3Uploads = ({ client, bucket }: { client: S3Client; bucket: string }, now: () => number = Date.now): UploadOffers => ({
  offer: async ({ key, bytes, sha256 }) => {
    const checksum = Buffer.from(sha256, 'hex').toString('base64')
    const command = new PutObjectCommand({ Bucket: bucket, Key: checkKey(key), ContentLength: bytes, ChecksumSHA256: checksum })
    const signed = new Set(['content-length', 'x-amz-checksum-sha256'])
    const expiresAt = new Date(now() + SECONDS * 1000).toISOString()
    const url = await getSignedUrl(client, command, {
      expiresIn: SECONDS,
      unhoistableHeaders: signed,
      signableHeaders: new Set([...signed, 'host']),
    })
    return { url, headers: { 'content-length': String(bytes), 'x-amz-checksum-sha256': checksum }, expiresAt }
  },
})
