/** Immutable objects in a bucket. */
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { LoopError } from '../../loop/errors.ts'
import type { ArtifactStore } from '../../loop/ports.ts'
import { checkKey, checkPrefix, conflict, sameBytes } from '../artifact-key.ts'
import { callStore } from '../store-errors.ts'

const isTaken = (error: unknown): boolean => error instanceof Error && error.name === 'PreconditionFailed'
/** Two writers of one key at once: S3 asks the later one to try again. */
const isRace = (error: unknown): boolean => error instanceof Error && error.name === 'ConditionalRequestConflict'

/** To whoever may not list the bucket, S3 says "denied" of an object that is not there: the two cannot be told apart. */
const isHidden = (error: unknown): boolean => error instanceof Error && error.name === 'AccessDenied'

export const s3Artifacts = ({ client, bucket }: { client: S3Client; bucket: string }): ArtifactStore => {
  const get = async (key: string): Promise<Uint8Array | null> => {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: checkKey(key) }))
      return Body ? await Body.transformToByteArray() : null
    } catch (error) {
      if (error instanceof NoSuchKey || isHidden(error)) return null
      throw error
    }
  }

  const put = async (key: string, bytes: Uint8Array): Promise<void> => {
    try {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: checkKey(key), Body: bytes, IfNoneMatch: '*' }))
    } catch (error) {
      if (isRace(error)) throw new LoopError('StoreConflict', `Others are writing the object ${key}.`, { key }, { cause: error })
      if (!isTaken(error)) throw error
      if (!sameBytes(await get(key), bytes)) throw conflict(key)
    }
  }

  const deleteAll = async (prefix: string): Promise<void> => {
    let from: string | undefined
    do {
      const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: checkPrefix(prefix), ContinuationToken: from }))
      const keys = (page.Contents ?? []).flatMap(({ Key }) => (Key ? [{ Key }] : []))
      if (keys.length > 0) {
        const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys, Quiet: true } }))
        if (Errors[0]) throw new LoopError('StoreUnavailable', `S3 did not delete ${Errors[0].Key}: ${Errors[0].Code}.`)
      }
      from = page.NextContinuationToken
    } while (from)
  }

  return {
    put: (key, bytes) => callStore(`Storing ${key}`, () => put(key, bytes)),
    get: (key) => callStore(`Reading ${key}`, () => get(key)),
    deleteAll: (prefix) => callStore(`Deleting ${prefix}`, () => deleteAll(prefix)),
  }
}
