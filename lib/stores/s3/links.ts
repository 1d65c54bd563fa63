/** Presigned addresses: who signs is allowed to read the object, and the address holds for some minutes. */
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { ArtifactLinks } from '../../loop/ports.ts'
import { checkKey } from '../artifact-key.ts'

const SECONDS = 300

export const s3Links = ({ client, bucket }: { client: S3Client; bucket: string }): ArtifactLinks => ({
  link: (key, { contentType, name }) =>
    getSignedUrl(
      client,
      new GetObjectCommand({
        Bucket: bucket,
        Key: checkKey(key),
        ResponseContentType: contentType,
        ResponseContentDisposition: `attachment; filename="${name}"`,
      }),
      { expiresIn: SECONDS },
    ),
})
