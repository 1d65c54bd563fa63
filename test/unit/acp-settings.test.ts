/** Settings of the agent `acp`, as they stand in the environment. */
import { describe, expect, it } from 'vitest'
import { readAcpSettings } from '../../lib/agents/acp/settings.ts'

const COMMAND = { REVIEWLOOP_ACP_COMMAND: '["agent","--acp"]' }

describe('settings of acp', () => {
  it('have a default for all but the command', () => {
    expect(readAcpSettings(COMMAND)).toEqual({
      command: ['agent', '--acp'],
      environment: [],
      state: [],
      files: {},
      key: null,
      login: null,
      contextTokens: 200_000,
    })
  })

  it('hold lists with commas', () => {
    const given = { REVIEWLOOP_ACP_ENVIRONMENT: 'A_KEY, B_URL,', REVIEWLOOP_ACP_STATE: '.agent/sessions,data/agent' }
    expect(readAcpSettings({ ...COMMAND, ...given })).toMatchObject({
      environment: ['A_KEY', 'B_URL'],
      state: ['.agent/sessions', 'data/agent'],
    })
  })

  it.each([
    [{}, 'REVIEWLOOP_ACP_COMMAND is not set'],
    [{ REVIEWLOOP_ACP_COMMAND: 'agent --acp' }, 'REVIEWLOOP_ACP_COMMAND is not valid'],
    [{ REVIEWLOOP_ACP_COMMAND: '[]' }, 'REVIEWLOOP_ACP_COMMAND is not valid'],
    [{ ...COMMAND, REVIEWLOOP_ACP_ENVIRONMENT: 'A_KEY,REVIEWLOOP_GIT_TOKEN' }, 'REVIEWLOOP_ACP_ENVIRONMENT is not valid'],
    [{ ...COMMAND, REVIEWLOOP_ACP_ENVIRONMENT: 'A=b' }, 'REVIEWLOOP_ACP_ENVIRONMENT is not valid'],
    [{ ...COMMAND, REVIEWLOOP_ACP_STATE: '../elsewhere' }, 'REVIEWLOOP_ACP_STATE is not valid'],
    [{ ...COMMAND, REVIEWLOOP_ACP_STATE: '/etc' }, 'REVIEWLOOP_ACP_STATE is not valid'],
    [{ ...COMMAND, REVIEWLOOP_ACP_FILES: '{"../up": ""}' }, 'REVIEWLOOP_ACP_FILES is not valid'],
    [{ ...COMMAND, REVIEWLOOP_ACP_KEY: 'REVIEWLOOP_GIT_TOKEN' }, 'REVIEWLOOP_ACP_KEY is not valid'],
    [{ ...COMMAND, REVIEWLOOP_ACP_CONTEXT_TOKENS: '10' }, 'REVIEWLOOP_ACP_CONTEXT_TOKENS is not valid'],
  ])('are refused where they are wrong: %j', (environment, message) => {
    expect(() => readAcpSettings(environment)).toThrow(message)
  })
})
