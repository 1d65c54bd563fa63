/** The way in for a repository that nobody here can fetch: its CI uploads a git bundle, and fetches report and patch afterwards. */
import { createHash } from 'node:crypto'
import { repositoryOf } from './deployment.ts'
import { LoopError } from './errors.ts'
import type { OfferedPlace, Ports, UploadOffers } from './ports.ts'
import type { UploadBody } from './requests.ts'
import { branchKeyOf } from './run-id.ts'

export interface Upload extends OfferedPlace {
  /** What a start names it by. */
  upload: string
  method: 'PUT'
}

/** Where a bundle of the repository with that checksum is kept: one repository's uploads are not another's. */
export const uploadKey = (repository: string, sha256: string): string =>
  `uploads/${branchKeyOf(repository, '').replace('branch#', '')}/${sha256}`

/** Offers an address to which exactly these bytes can be put, for some minutes. Errors: RepositoryNotAllowed. */
export const offerUpload = async (
  ports: Pick<Ports, 'deployment'>,
  offers: UploadOffers,
  { repository, bytes, sha256 }: UploadBody,
): Promise<Upload> => {
  const allowed = repositoryOf(ports.deployment, repository)
  if (allowed?.forge.kind !== 'bundle')
    throw new LoopError('RepositoryNotAllowed', `${repository} is no repository of this deployment whose bundles are uploaded.`)
  return { upload: sha256, method: 'PUT', ...(await offers.offer({ key: uploadKey(allowed.url, sha256), bytes, sha256 })) }
}

/** The bundle of a run; null where its repository is fetched. Errors: BundleRefused where it was never uploaded, or is not what was announced. */
export const readUpload = async (ports: Pick<Ports, 'artifacts'>, key: string | null): Promise<Uint8Array | null> => {
  if (key === null) return null
  const bytes = await ports.artifacts.get(key)
  if (!bytes) throw new LoopError('BundleRefused', 'The bundle was not uploaded.', { key })
  if (createHash('sha256').update(bytes).digest('hex') !== key.split('/').at(-1))
    throw new LoopError('BundleRefused', 'The bundle is not the one whose checksum was given.', { key })
  return bytes
}
