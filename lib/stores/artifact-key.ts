import { LoopError } from '../loop/errors.ts'

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** A key is segments of plain characters: it means the same in a bucket and in a folder, and leads out of neither. Errors: BadRequest. */
export const checkKey = (key: string): string => {
  if (key.length > 512 || !key.split('/').every((segment) => SEGMENT.test(segment)))
    throw new LoopError('BadRequest', `${JSON.stringify(key)} is no key of an artifact.`)
  return key
}

/** The start of keys, to a segment's end or within one. Never empty: that would be everything. */
export const checkPrefix = (prefix: string): string => {
  checkKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix)
  return prefix
}

export const sameBytes = (a: Uint8Array | null, b: Uint8Array): boolean => a !== null && Buffer.compare(a, b) === 0

export const conflict = (key: string): LoopError =>
  new LoopError('StoreConflict', `The object ${key} exists and holds something else.`, { key })
