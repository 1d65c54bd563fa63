/**
 * What the token of a CI job says, held against the deployment: whose repository it is, what started the job, on which ref, by which
 * workflow. Signature, issuer, audience and times were checked before. Ids decide, for a name can be taken over.
 */
import * as z from 'zod'
import { ciIssuer, type CiKind, FOREIGN_EVENTS } from '../names.ts'
import type { DeployedRepository, Deployment } from './deployment.ts'
import { LoopError } from './errors.ts'
import { firstIssue } from './issue.ts'
import type { RunItem } from './items.ts'
import { oneLine } from './redact.ts'
import { normaliseRepository } from './run-id.ts'

/** A job, as far as it was believed. */
export interface CiJob {
  repository: DeployedRepository
  /** Shown as who started a run. */
  name: string
  /** The branch that the job runs for; null where it is no branch. */
  branch: string | null
  /** Branch that the job's change is to go to; null: the repository's default branch. */
  base: string | null
  /** Whether the job was started by a change of that branch, so that it may ask for no other. */
  bound: boolean
  /** Whether the job's commit may be of another repository, so that the head has to be named and looked up in this one. */
  mayBeForeign: boolean
}

type Forge<K extends CiKind> = Extract<DeployedRepository['forge'], { kind: K }>

const text = z.string().min(1).max(1000)
/** Issuers write ids as text; as numbers they are taken too. */
const id = z.union([z.string().regex(/^\d{1,18}$/), z.int().min(1)]).transform(Number)

const githubClaims = z.object({
  repository: text,
  repository_id: id,
  repository_owner_id: id,
  event_name: text,
  ref: text,
  head_ref: z.string().max(1000).nullish(),
  base_ref: z.string().max(1000).nullish(),
  workflow_ref: text,
  job_workflow_ref: text.nullish(),
  run_id: text.nullish(),
})

const gitlabClaims = z.object({
  project_id: id,
  project_path: text,
  namespace_id: id,
  ref: text,
  ref_type: text,
  ref_protected: z.union([z.enum(['true', 'false']), z.boolean()]).transform((given) => given === true || given === 'true'),
  pipeline_source: text,
  ci_config_ref_uri: text.nullish(),
  pipeline_id: text.nullish(),
})

const refuse = (why: string): never => {
  throw new LoopError('CallerRefused', `The token was refused: ${why}.`)
}
const shown = (value: string): string => JSON.stringify(oneLine(value, 120))

const claimsOf = <T>(schema: z.ZodType<T>, claims: unknown): T => {
  const parsed = schema.safeParse(claims)
  return parsed.success ? parsed.data : refuse(`a claim is missing or is not what it should be: ${firstIssue(parsed.error)}`)
}

/** `*` stands for any text; everything else for itself. */
const like = (patterns: readonly string[], value: string): boolean =>
  patterns.some((pattern) =>
    new RegExp(
      `^${pattern
        .split('*')
        .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
        .join('.*')}$`,
    ).test(value),
  )

/** `host/owner/name` of a forge, in the spelling of the claim: what follows the host. */
const pathOf = (url: string): string => (URL.canParse(url) ? new URL(url).pathname.replace(/^\/+|\/+$|\.git$/g, '') : '')

const issuerOf = (forge: DeployedRepository['forge']): string | null => ('apiUrl' in forge ? ciIssuer(forge.kind, forge.apiUrl) : null)

/** Where an issuer publishes its keys. */
export const keysOf = (kind: CiKind, issuer: string): string =>
  `${issuer}${kind === 'github' ? '/.well-known/jwks' : '/oauth/discovery/keys'}`

/** Issuers whose tokens some repository of the deployment takes. */
export const trustedIssuers = ({ repositories }: Deployment, kind: CiKind): string[] => [
  ...new Set(repositories.flatMap(({ forge, triggers }) => (triggers.oidc && forge.kind === kind ? [issuerOf(forge) ?? ''] : []))),
]

/** The one repository with the id, of those whose tokens the issuer signs. */
const repositoryOfId = <K extends CiKind>(
  deployment: Deployment,
  at: { kind: K; issuer: string; isIt: (forge: Forge<K>) => boolean; path: string },
): { repository: DeployedRepository; forge: Forge<K>; oidc: NonNullable<DeployedRepository['triggers']['oidc']> } => {
  for (const repository of deployment.repositories) {
    const { forge, url, triggers } = repository
    if (forge.kind !== at.kind || issuerOf(forge) !== at.issuer || !at.isIt(forge as Forge<K>)) continue
    if (!triggers.oidc) return refuse(`${url} takes no tokens of CI jobs`)
    if (pathOf(url).toLowerCase() !== at.path.toLowerCase())
      return refuse(`the repository is called ${shown(at.path)} now, and ${shown(pathOf(url))} in the settings: name it anew there`)
    return { repository, forge: forge as Forge<K>, oidc: triggers.oidc }
  }
  return refuse(`no repository of this deployment has the id of ${shown(at.path)}`)
}

const checkEvent = (oidc: { events: readonly string[]; refs: readonly string[] }, event: string, ref: string): void => {
  if (FOREIGN_EVENTS.includes(event)) refuse(`a job of the event ${shown(event)} may run on a change from a fork`)
  if (!oidc.events.includes(event)) refuse(`the event ${shown(event)} is not one of ${oidc.events.join(', ')}`)
  if (!like(oidc.refs, ref)) refuse(`the ref ${shown(ref)} is none of ${oidc.refs.join(', ')}`)
}

const branchOf = (ref: string): string | null => /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? null

/** Errors: CallerRefused, with the claim. */
const githubJob = (deployment: Deployment, issuer: string, given: unknown): CiJob => {
  const claims = claimsOf(githubClaims, given)
  const isIt = (forge: Forge<'github'>): boolean => forge.repositoryId === claims.repository_id
  const { repository, forge, oidc } = repositoryOfId(deployment, { kind: 'github', issuer, isIt, path: claims.repository })
  if (forge.ownerId !== claims.repository_owner_id) refuse('the repository belongs to another owner than the settings say')
  checkEvent(oidc, claims.event_name, claims.ref)
  // Both: a workflow that is called by another runs under the name of the one that calls it.
  for (const ref of [claims.workflow_ref, claims.job_workflow_ref ?? claims.workflow_ref]) {
    const [file = ''] = ref.split('@')
    if (oidc.workflows && !like(oidc.workflows, file)) refuse(`the workflow ${shown(file)} is none of ${oidc.workflows.join(', ')}`)
  }
  const ofPullRequest = claims.event_name.startsWith('pull_request')
  return {
    repository,
    name: `github:${claims.repository}${claims.run_id ? `/actions/runs/${claims.run_id}` : ''}`,
    branch: ofPullRequest ? claims.head_ref || refuse('the claim head_ref names no branch') : branchOf(claims.ref),
    base: ofPullRequest ? claims.base_ref || refuse('the claim base_ref names no branch') : null,
    bound: ofPullRequest || claims.event_name === 'push',
    mayBeForeign: ofPullRequest,
  }
}

/** Errors: CallerRefused, with the claim. */
const gitlabJob = (deployment: Deployment, issuer: string, given: unknown): CiJob => {
  const claims = claimsOf(gitlabClaims, given)
  const isIt = (forge: Forge<'gitlab'>): boolean => forge.projectId === claims.project_id
  const { repository, forge, oidc } = repositoryOfId(deployment, { kind: 'gitlab', issuer, isIt, path: claims.project_path })
  if (forge.namespaceId !== undefined && forge.namespaceId !== claims.namespace_id)
    refuse('the project belongs to another namespace than the settings say')
  if (claims.ref_type !== 'branch') refuse(`the ref is a ${shown(claims.ref_type)}, not a branch`)
  checkEvent(oidc, claims.pipeline_source, `refs/heads/${claims.ref}`)
  if (oidc.protectedOnly && !claims.ref_protected) refuse(`the branch ${shown(claims.ref)} is not protected`)
  const [file = ''] = (claims.ci_config_ref_uri ?? '').split('@')
  const config = file.split('//').at(1) ?? file
  if (oidc.workflows && !like(oidc.workflows, config)) refuse(`the CI file ${shown(config)} is none of ${oidc.workflows.join(', ')}`)
  const ofMergeRequest = claims.pipeline_source === 'merge_request_event'
  return {
    repository,
    name: `gitlab:${claims.project_path}${claims.pipeline_id ? `/pipelines/${claims.pipeline_id}` : ''}`,
    branch: claims.ref,
    base: null,
    bound: ofMergeRequest || claims.pipeline_source === 'push',
    mayBeForeign: ofMergeRequest,
  }
}

/** The job that the claims of a token tell of, which `issuer` has signed. Errors: CallerRefused, with the claim. */
export const ciJob = (deployment: Deployment, kind: CiKind, issuer: string, claims: unknown): CiJob =>
  (kind === 'github' ? githubJob : gitlabJob)(deployment, issuer, claims)

/** Errors: RunNotFound for a run of another repository: that there is one is nothing to tell. */
export const assertOwnRun = (job: CiJob, run: RunItem): void => {
  if (normaliseRepository(run.request.repository) !== normaliseRepository(job.repository.url))
    throw new LoopError('RunNotFound', `There is no run ${run.runId}.`, { runId: run.runId })
}
