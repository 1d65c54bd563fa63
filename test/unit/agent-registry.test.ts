import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAgents } from '../../lib/agents/registry.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'registry-'))
})
afterAll(() => rm(folder, { recursive: true }))

const written = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

describe('agents by name', () => {
  it('come in the order asked for, without those that are not there', async () => {
    const agents = createAgents({ scenario: await written('good.yaml', 'version: "7"\n') })
    const found = await agents.find(['nobody', 'scripted', 'lint', 'scripted'])
    expect(found.map(({ id }) => id)).toEqual(['scripted', 'lint'])
    expect(found[0].version).toBe('7')
    expect((await agents.find(['lint']))[0]).toBe(found[1])
  })

  it('bedrock is there where the environment names a model, and says what is missing or wrong where it is not', async () => {
    await expect(createAgents().find(['bedrock'])).rejects.toMatchObject({
      name: 'AgentUnavailable',
      message: expect.stringContaining('bedrock: REVIEWLOOP_BEDROCK_MODEL is not set (its settings are in the environment') as string,
    })
    vi.stubEnv('REVIEWLOOP_BEDROCK_MODEL', 'some.model')
    vi.stubEnv('REVIEWLOOP_BEDROCK_PRICES', '3/15')
    await expect(createAgents().find(['bedrock'])).rejects.toThrow('REVIEWLOOP_BEDROCK_PRICES is not valid')
    vi.stubEnv('REVIEWLOOP_BEDROCK_PRICES', '3/15/0.3/3.75')
    expect((await createAgents().find(['bedrock']))[0].version).toMatch(/^prompts \d+, some\.model$/)
    vi.unstubAllEnvs()
  })

  it('are refused with a reason and a remedy where none is there', async () => {
    await expect(createAgents().find(['scripted', 'nobody'])).rejects.toMatchObject({
      name: 'AgentUnavailable',
      message:
        'No agent can run here. scripted: no scenario file is named (it plays a scenario file: name one); nobody: there is no agent of that name; there are lint, bedrock, claude, codex, acp, scripted.',
    })
    await expect(createAgents().find([])).rejects.toMatchObject({ name: 'AgentUnavailable' })
    await expect(createAgents().find(['constructor'])).rejects.toMatchObject({ name: 'AgentUnavailable' })
  })

  it.each([
    ['turns:\n  1: { rol: reviewer }\n', 'turns.1'],
    ['turns:\n  one: {}\n', 'turns.one'],
    ['otherwise:\n  fixer: { delay_ms: -1 }\n', 'otherwise.fixer.delay_ms'],
    ['turns: [\n', ''],
  ])('name the file and the key of a scenario that is not valid', async (text, key) => {
    const scenario = await written('bad.yaml', text)
    await expect(createAgents({ scenario }).find(['scripted', 'lint'])).rejects.toMatchObject({
      name: 'BadSettings',
      details: { file: scenario, key },
    })
  })

  it('name the file that cannot be read', async () => {
    const scenario = join(folder, 'missing.yaml')
    await expect(createAgents({ scenario }).find(['scripted'])).rejects.toMatchObject({
      name: 'BadSettings',
      message: `${scenario}: cannot be read: ENOENT`,
    })
  })
})
