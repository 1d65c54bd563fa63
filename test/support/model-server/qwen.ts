/** The agent `acp` with Qwen Code, a real one, in front of a chat completions server of a test's own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, vi } from 'vitest'
import { createAcpAgent, type AcpOptions } from '../../../lib/agents/acp/agent.ts'
import { readAcpSettings } from '../../../lib/agents/acp/settings.ts'
import type { Agent } from '../../../lib/loop/agent.ts'
import { qwenCommand } from '../agent-packages.ts'
import { startChatServer, type ChatServer } from './chat.ts'
import { plainChat } from './plain-chat.ts'

/** Its own settings: no tools of its own that could do anything, nothing told to anybody, no calls of a model but those of the turn. */
const SETTINGS = {
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false },
  ui: { enableFollowupSuggestions: false },
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableAutoSkill: false },
  tools: { toolSearch: { enabled: false } },
}

const WITHOUT =
  'run_shell_command,read_file,write_file,edit,notebook_edit,glob,grep_search,list_directory,web_fetch,lsp,agent,list_agents,send_message,' +
  'skill,task_stop,monitor,ask_user_question,enter_plan_mode,exit_plan_mode,enter_worktree,exit_worktree,get_goal,update_goal,' +
  'report_findings,record_artifact,read_mcp_resource,cron_create,cron_list,cron_delete,loop_wakeup,todo_write,save_memory,zoom_image'
const ARGUMENTS = ['--acp', '--auth-type', 'openai', '--model', 'test', '--approval-mode', 'default', '--exclude-tools', WITHOUT]

/** The environment by which a process finds it. `scratch` is a folder for what may be kept from one to the next. */
export const qwenEnvironment = (scratch: string, url: string): Record<string, string> => ({
  REVIEWLOOP_ACP_COMMAND: JSON.stringify([...qwenCommand(), ...ARGUMENTS]),
  REVIEWLOOP_ACP_KEY: 'OPENAI_API_KEY',
  REVIEWLOOP_ACP_ENVIRONMENT: 'OPENAI_BASE_URL,QWEN_CODE_LEGACY_MCP_BLOCKING,NODE_COMPILE_CACHE',
  REVIEWLOOP_ACP_STATE: '.qwen/projects',
  REVIEWLOOP_ACP_FILES: JSON.stringify({ '.qwen/settings.json': JSON.stringify(SETTINGS) }),
  OPENAI_API_KEY: 'local',
  OPENAI_BASE_URL: url,
  QWEN_CODE_LEGACY_MCP_BLOCKING: '1',
  // Its start is most of what a turn takes here.
  NODE_COMPILE_CACHE: scratch,
})

export interface QwenBench {
  server: ChatServer
  /** One that was asked once what it can; the clock is that of the latest call. */
  agent(settings?: Record<string, string>, options?: AcpOptions): Promise<Agent>
}

/** To be called once, at the top of a test file. Before each test the server is as new. */
export const qwenBench = (): QwenBench => {
  let there: { server: ChatServer; scratch: string } | null = null
  const agents = new Map<string, Promise<Agent>>()
  let clock = (): number => Date.now()
  const given = (): { server: ChatServer; scratch: string } => {
    if (!there) throw new Error('The server is there only while a test runs.')
    return there
  }
  const environment = (): Record<string, string> => qwenEnvironment(given().scratch, given().server.url)
  beforeAll(async () => {
    there = { server: await startChatServer(plainChat()), scratch: await mkdtemp(join(tmpdir(), 'qwen-')) }
    for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value)
  })
  beforeEach(() => {
    const { server } = given()
    server.requests.length = 0
    server.script.length = 0
    server.model = plainChat()
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await there?.server[Symbol.asyncDispose]()
    if (there) await rm(there.scratch, { recursive: true, force: true })
  })
  return {
    get server() {
      return given().server
    },
    agent: (settings = {}, { now = () => Date.now() } = {}) => {
      clock = now
      const key = JSON.stringify(settings)
      const agent =
        agents.get(key) ??
        createAcpAgent(readAcpSettings({ ...environment(), ...settings }), { key: async () => 'local', now: () => clock() })
      agents.set(key, agent)
      return agent
    },
  }
}
