/** The files of each zip, just as they are deployed: light enough, loaded in an empty folder by a bare Node, and called once. */
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeZip } from '../../lib/infra/bundling.ts'
import { deploymentDocument } from '../../lib/infra/deployment-document.ts'
import { isImageFunction } from '../../lib/infra/functions.ts'
import { ENV, FUNCTION_FOLDERS, type FunctionName } from '../../lib/names.ts'
import { awsStandIn, type StandIn } from '../support/aws-stand-in.ts'
import { invoke, unloadable } from '../support/bare-node.ts'
import { eventOf } from '../support/events.ts'
import { environmentOf, exampleSettings, synthesize } from '../support/template.ts'

const ZIPS = (Object.keys(FUNCTION_FOLDERS) as FunctionName[]).filter((name) => !isImageFunction(name))
// A port that nobody listens on: the forge cannot be reached, and no other machine is asked.
const REPOSITORY = 'https://127.0.0.1:9/one.git'
const settings = exampleSettings({ repositories: [{ url: REPOSITORY, defaultBranch: 'main' }] })
const template = synthesize(settings)

let folder: string
let aws: StandIn
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reviewloop-zips-'))
  aws = await awsStandIn()
  await Promise.all(ZIPS.map((name) => writeZip(name, join(folder, name), deploymentDocument(settings))))
})
afterAll(async () => {
  await aws[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** Without these a function works: for public repositories, and where no forge is told anything. */
const OPTIONAL: readonly string[] = [ENV.gitTokenSecret, ENV.publishFunction]

const environment = (name: FunctionName) => ({ ...environmentOf(template, name), AWS_ENDPOINT_URL: aws.url })

/** What the call is to come to, and what it must have asked on the way. */
const EXPECTED: Partial<Record<FunctionName, { outcome: object; asked: string | null }>> = {
  Park: { outcome: { kind: 'error', name: 'RunNotFound' }, asked: 'DynamoDB.GetItem' },
  Decide: { outcome: { kind: 'error', name: 'RunNotFound' }, asked: 'DynamoDB.GetItem' },
  RecordFailure: { outcome: { kind: 'error', name: 'RunNotFound' }, asked: 'DynamoDB.GetItem' },
  Close: { outcome: { kind: 'error', name: 'RunNotFound' }, asked: 'DynamoDB.GetItem' },
  // No git is at hand here either.
  Start: { outcome: { kind: 'answer', value: { statusCode: 502 } }, asked: 'secretsmanager.GetSecretValue' },
  Show: { outcome: { kind: 'answer', value: { statusCode: 404 } }, asked: 'DynamoDB.GetItem' },
  Report: { outcome: { kind: 'answer', value: { statusCode: 404 } }, asked: 'DynamoDB.GetItem' },
  Answer: { outcome: { kind: 'answer', value: { statusCode: 404 } }, asked: 'DynamoDB.GetItem' },
  Abort: { outcome: { kind: 'answer', value: { statusCode: 404 } }, asked: 'DynamoDB.GetItem' },
  // An address is signed here; nobody is asked for it.
  Upload: { outcome: { kind: 'answer', value: { statusCode: 403 } }, asked: null },
  Webhook: { outcome: { kind: 'answer', value: { statusCode: 503 } }, asked: 'secretsmanager.GetSecretValue' },
  Watch: { outcome: { kind: 'answer', value: { atWork: 0, waiting: 0 } }, asked: 'DynamoDB.Query' },
}

describe.each(ZIPS)('%s', (name) => {
  test('is one file, and a light one', async () => {
    expect(await readdir(join(folder, name))).toContain('index.mjs')
    const bytes = readFileSync(join(folder, name, 'index.mjs'))
    expect(bytes.length).toBeLessThan(900_000)
    expect(deflateRawSync(bytes).length).toBeLessThan(250_000)
  })

  test('brings none of the providers that Lambda never comes to', () => {
    const text = readFileSync(join(folder, name, 'index.mjs'), 'utf8')
    const traces = ['sso_start_url', 'credential_process', 'AssumeRoleWithWebIdentity', 'GetRoleCredentials']
    expect(traces.filter((trace) => text.includes(trace))).toEqual([])
  })

  test('loads with its own variables, answers, and asks AWS for what it needs', async () => {
    aws.calls.length = 0
    const outcome = await invoke(join(folder, name), 'index.mjs', environment(name), eventOf(name, REPOSITORY))
    expect(outcome).toMatchObject(EXPECTED[name]?.outcome ?? { kind: 'nothing is expected of this function yet' })
    const { asked } = EXPECTED[name] ?? {}
    if (asked === null) expect(aws.calls).toEqual([])
    else expect(aws.calls).toContain(asked)
  })

  test('needs every variable that it is given', async () => {
    // The one that may be left out: public repositories need no token.
    const needed = Object.keys(environmentOf(template, name)).filter((variable) => !OPTIONAL.includes(variable))
    const missed = await unloadable(join(folder, name), 'index.mjs', environment(name), needed)
    expect(missed).toEqual(needed)
  })
})
