/** The package that the agent `claude` stands on, as it is installed. */
import { expect, it } from 'vitest'
import { loadClaudeSdk } from '../../lib/agents/claude/sdk.ts'
import { findPackage } from '../../lib/agents/optional-package.ts'
import { agentPackages } from '../support/agent-packages.ts'
import { complaintsAbout } from '../support/sdk-types.ts'

it('is found in the folder that the environment names, and loads', async () => {
  expect((await findPackage('claude', '@anthropic-ai/claude-agent-sdk')).folder).toContain(agentPackages())
  expect(await loadClaudeSdk()).toMatchObject({ query: expect.any(Function) as unknown })
})

const HEAD = `import type * as sdk from '@anthropic-ai/claude-agent-sdk'
import type { ClaudeOptions, ClaudeSdk } from '~/lib/agents/claude/sdk.ts'
type Server = ReturnType<typeof sdk.createSdkMcpServer>
`

it('has the types that we have written down', async () => {
  expect(await complaintsAbout(`${HEAD}export const ours = (theirs: typeof sdk): ClaudeSdk<Server> => theirs\n`)).toBe('')
})

it('would be seen to have others', async () => {
  const changed = `export const ours = (theirs: Omit<typeof sdk, 'query'>): ClaudeSdk<Server> => theirs\n`
  expect(await complaintsAbout(HEAD + changed)).toContain("Property 'query' is missing")
  const option = `export const theirs = (options: ClaudeOptions<Server>): sdk.Options => ({ ...options, maxTurns: 'many' })\n`
  expect(await complaintsAbout(HEAD + option)).toContain("Type 'string' is not assignable to type 'number'")
})
