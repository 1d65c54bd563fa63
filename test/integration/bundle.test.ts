/** A repository that nobody here can fetch: its CI uploads a bundle, and fetches report and patch. And bundles that lie. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deployment } from '../../lib/loop/deployment.ts'
import { startFromDoor } from '../../lib/loop/door.ts'
import { prepare } from '../../lib/loop/prepare.ts'
import { uploadKey } from '../../lib/loop/upload.ts'
import { s3Uploads } from '../../lib/stores/s3/uploads.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { apiOf } from '../support/api.ts'
import { makeRepository, repositoryAt, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { invocationOf, makePorts, stateOf } from '../support/ports.ts'
import { send, startService, type TestService } from '../support/service.ts'
import { limitsOf, never } from '../support/workspaces.ts'

const NAME = 'https://git.inside.example/team/project'
const facts = deployment.parse({ repositories: [{ url: NAME, forge: { kind: 'bundle' } }] })
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

let repository: TestRepository
let folder: string
let base: string
let head: string
let bundle: Buffer
const bundleOf = async (...what: string[]): Promise<Buffer> => {
  const file = join(folder, `${what.join('-').replaceAll(/[^\w-]/g, '_')}.bundle`)
  await repository.git('bundle', 'create', '--quiet', file, ...what)
  return readFile(file)
}
beforeAll(async () => {
  folder = await temporaryFolder()
  repository = await makeRepository()
  await repository.commit('first', { 'a.txt': 'one\n' })
  base = await repository.commit('second', { 'a.txt': 'one\ntwo\n', '.reviewloop.yaml': 'rounds: 2\n' })
  await repository.branch('change')
  head = await repository.commit('change', { 'a.txt': 'one\nbad\n' })
  bundle = await bundleOf('main', 'change')
})
afterAll(async () => {
  await repository.close()
  await repositoryAt(folder).close()
})

describe('a bundle', () => {
  const fetched = (bytes: Uint8Array, change: object = {}) =>
    gitWorkspaces({ token: async () => expect.fail('a token was asked for') }).fetch(
      { repository: NAME, branch: 'change', base, head, bundle: bytes, ...change },
      () => limitsOf(),
      never(),
    )

  it('is the source: merge base, settings of the base and the change are read from it, and nothing is fetched', async () => {
    expect(await fetched(bundle)).toMatchObject({
      mergeBase: base,
      head,
      files: 1,
      empty: false,
      settings: 'rounds: 2\n',
      messages: ['change'],
    })
  })

  it.each([
    ['no bundle', () => Buffer.from('PK\u0003\u0004 something else'), 'is none'],
    ['nothing', () => Buffer.alloc(0), 'is none'],
    ['a list without an end', () => Buffer.concat([Buffer.from('# v2 git bundle\n'), Buffer.alloc(5_000_000, 'a')]), 'is none'],
    ['a bundle cut short', () => bundle.subarray(0, -30), 'is damaged'],
    ['a bundle with a bit turned over', () => bundle.map((byte, at) => (at === bundle.length - 40 ? byte ^ 1 : byte)), 'is damaged'],
    [
      'a bundle of a partial clone',
      () => Buffer.concat([Buffer.from('# v3 git bundle\n@filter=blob:none\n'), bundle.subarray(16)]),
      'capability',
    ],
  ])('that is %s is refused', async (_what, bytes, why) => {
    await expect(fetched(bytes())).rejects.toMatchObject({ name: 'BundleRefused', message: expect.stringContaining(why) as string })
  })

  it('that needs commits besides, or leaves some out, is refused with what to do', async () => {
    await expect(fetched(await bundleOf('main..change'))).rejects.toMatchObject({ name: 'BundleRefused' })
    const names = bundle.subarray(0, bundle.indexOf('\n\n') + 2)
    const part = await bundleOf('main..change')
    const lying = Buffer.concat([names, part.subarray(part.indexOf('\n\n') + 2)])
    await expect(fetched(lying)).rejects.toMatchObject({ name: expect.stringMatching(/^(BundleRefused|NoCommit)$/) as string })
  })

  it('whose names lie changes nothing: base and head are the commits that were asked for, and both have to be in it', async () => {
    const text = bundle.toString('latin1')
    const swapped = text
      .replace(`${base} refs/heads/main`, `${head} refs/heads/main`)
      .replace(`${head} refs/heads/change`, `${base} refs/heads/change`)
    expect(await fetched(Buffer.from(swapped, 'latin1'))).toMatchObject({ mergeBase: base, head })
    await expect(fetched(bundle, { head: 'c'.repeat(40) })).rejects.toMatchObject({ name: 'NoCommit' })
  })

  it('over the limit of bytes that the base sets is refused', async () => {
    const all = { repository: NAME, branch: 'change', base, head, bundle }
    const limits = () => limitsOf({ bytes: bundle.length - 1 })
    await expect(gitWorkspaces({ token: async () => null }).fetch(all, limits, never())).rejects.toMatchObject({ name: 'ChangeTooLarge' })
  })
})

describe('a start', () => {
  const body = (change: object = {}) => ({
    repository: NAME,
    branch: 'change',
    head,
    bundle: { upload: sha256(bundle), base },
    again: false,
    ...change,
  })
  const start = (change: object = {}, url = NAME) => {
    const ports = makePorts({ deployment: deployment.parse({ repositories: [{ url, forge: { kind: url === NAME ? 'bundle' : 'git' } }] }) })
    ports.forge.branchHead = () => expect.fail('the forge was asked')
    return startFromDoor(ports, { body: { ...body(), ...change }, startedBy: 'ada' })
  }

  it('asks no forge, and the same again is one run whatever the bundle', async () => {
    const { run, started } = await start()
    expect(started).toBe(true)
    expect(run).toMatchObject({ request: { repository: NAME, base, head }, bundle: uploadKey(NAME, sha256(bundle)) })
    const other = await start({ bundle: { upload: 'b'.repeat(64), base } })
    expect(other.run.runId).toBe(run.runId)
  })

  it('without commits or bundle is refused, and so is a bundle of a repository that is fetched', async () => {
    for (const change of [{ head: undefined }, { bundle: undefined }, { base: 'main' }])
      await expect(start(change)).rejects.toMatchObject({ name: 'BadRequest' })
    const fetched = 'https://git.example/fetched'
    await expect(start({ repository: fetched }, fetched)).rejects.toMatchObject({ name: 'BadRequest' })
  })

  it('of a bundle that was never uploaded, or is another, ends as refused', async () => {
    for (const uploaded of [null, Buffer.from('other')]) {
      const ports = makePorts({ deployment: facts })
      const { run } = await startFromDoor(ports, { body: body(), startedBy: 'ada' })
      if (uploaded) await ports.artifacts.put(run.bundle ?? '', uploaded)
      const state = stateOf({ runId: run.runId, next: 'Prepare', commit: head })
      await expect(prepare(ports, state, invocationOf(ports))).rejects.toMatchObject({ name: 'BundleRefused' })
    }
  })
})

describe('an upload', () => {
  it('is offered for a repository whose bundles are uploaded, and no other', async () => {
    const ports = makePorts({
      deployment: deployment.parse({ repositories: [...facts.repositories, { url: 'https://git.example/fetched' }] }),
    })
    const api = apiOf(ports)
    const wanted = { bytes: 10, sha256: 'a'.repeat(64) }
    const offered = await api('POST /uploads', { body: { repository: `${NAME}.git`, ...wanted } })
    expect(offered.status).toBe(201)
    expect(offered.json()).toMatchObject({
      upload: wanted.sha256,
      method: 'PUT',
      url: expect.stringContaining(uploadKey(NAME, wanted.sha256)) as string,
    })
    for (const other of ['https://git.example/fetched', 'https://git.example/nobody'])
      expect((await api('POST /uploads', { body: { repository: other, ...wanted } })).status).toBe(403)
    for (const wrong of [{ bytes: 0 }, { bytes: 200_000_001 }, { sha256: '../x' }])
      expect((await api('POST /uploads', { body: { repository: NAME, ...wanted, ...wrong } })).status).toBe(400)
    expect((await api('POST /uploads', { body: { repository: NAME, ...wanted }, arn: null })).status).toBe(401)
  })

  it('to S3 is signed for one key, one length and one checksum', async () => {
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }
    const client = new S3Client({ region: 'eu-central-1', credentials })
    const key = uploadKey(NAME, 'ab'.repeat(32))
    const { url, headers, expiresAt } = await s3Uploads({ client, bucket: 'artifacts' }, () => 0).offer({
      key,
      bytes: 12,
      sha256: 'ab'.repeat(32),
    })
    const { pathname, searchParams } = new URL(url)
    expect(pathname).toBe(`/${key}`)
    expect(searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;host;x-amz-checksum-sha256')
    expect(searchParams.get('X-Amz-Expires')).toBe('900')
    expect([...searchParams.keys()].filter((name) => /crc32/i.test(name))).toEqual([])
    expect(headers).toEqual({ 'content-length': '12', 'x-amz-checksum-sha256': Buffer.from('ab'.repeat(32), 'hex').toString('base64') })
    expect(expiresAt).toBe('1970-01-01T00:15:00.000Z')
  })
})

describe('the whole way, through the API of this machine', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(facts, {
      1: { role: 'reviewer', findings: [{ rule: 'bad', severity: 'error', action: 'auto-fix', file: 'a.txt', line: 2, text: 'bad' }] },
      2: { role: 'fixer', edits: [{ replace: 'a.txt', before: 'bad', after: 'good' }] },
      3: { role: 'reviewer', accounts: { fixed: 'all' } },
      4: { role: 'certifier' },
    })
  })
  afterAll(() => service.close())

  const offer = async (bytes: Buffer) => {
    const { json } = await service.call('POST', '/uploads', { body: { repository: NAME, bytes: bytes.length, sha256: sha256(bytes) } })
    return json as { url: string; upload: string }
  }
  const put = (url: string, bytes: Buffer) => fetch(url, { method: 'PUT', body: new Uint8Array(bytes) })

  it('takes what was announced and nothing else, without a credential', async () => {
    const { url } = await offer(bundle)
    expect((await put(url, Buffer.concat([bundle, bundle]))).status).toBe(413)
    expect((await put(url, bundle.subarray(1))).status).toBe(400)
    expect((await put(`${url}x`, bundle)).status).toBe(404)
    expect((await send(url, { method: 'PUT', headers: { origin: 'https://elsewhere.example' } })).status).toBe(403)
    expect((await put(url, bundle)).status).toBe(200)
  })

  it('reviews and fixes what the bundle holds, publishes nothing, and gives the fixes as a patch that applies', async () => {
    const { url, upload } = await offer(bundle)
    await put(url, bundle)
    const { status, json } = await service.call('POST', '/runs', {
      body: { repository: NAME, branch: 'change', head, bundle: { upload, base } },
    })
    expect(status).toBe(201)
    const { runId } = json['run'] as { runId: string }
    const run = await service.until(runId, (one) => one.status === 'ended')
    expect(run).toMatchObject({ verdict: { outcome: 'approved', reason: 'certified' }, publishing: null })
    const { token, url: api } = service.now()
    const patch = await send(`${api}/runs/${runId}/report?format=patch`, { headers: { authorization: `Bearer ${token}` } })
    await repository.write('fixes.patch', patch.text)
    await repository.git('apply', 'fixes.patch')
    expect((await repository.read('a.txt')).toString()).toBe('one\ngood\n')
    const report = await send(`${api}/runs/${runId}/report?format=json`, { headers: { authorization: `Bearer ${token}` } })
    expect(JSON.parse(report.text)).toMatchObject({ outcome: 'approved', fixes: { branch: null } })
  })
})
