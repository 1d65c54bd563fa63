/** How the command-line tool is set up for a turn: no tools but ours, nothing read from the repository or the machine, nothing sent but to us. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { AgentTurn } from '../../loop/agent.ts'
import { SYSTEM } from '../../loop/prompts/system.ts'
import { type CliHome, openCliHome } from '../cli-home.ts'
import type { Rollout } from './entries.ts'
import type { Gate } from './gate.ts'
import type { ConfigValue, ThreadOptions } from './sdk.ts'
import type { CodexSettings } from './settings.ts'

const NOTE =
  'Work with the tools; paths are those of the repository. When you are done, answer with the result in the form that is asked for, and nothing else.'

/** Features that bring a tool, a program or a text of their own, or talk to somebody. */
const OFF = [
  'apps',
  'auth_elicitation',
  'browser_use',
  'browser_use_external',
  'code_mode_host',
  'computer_use',
  'daemon_auto_start',
  'enable_request_compression',
  'goals',
  'hooks',
  'image_generation',
  'memories',
  'multi_agent',
  'plugin_sharing',
  'plugins',
  'remote_plugin',
  'shell_snapshot',
  'shell_tool',
  'skill_mcp_dependency_install',
  'sleep_tool',
  'tool_suggest',
  'unified_exec',
  'view_image',
  'workspace_dependencies',
] as const

/** What the tool is told of the model: with its own table a model would get tools of the tool's, and outgrown conversations would be cut. */
const catalog = ({ model }: CodexSettings, role: AgentTurn['role']) => ({
  models: [
    {
      slug: model,
      display_name: model,
      description: null,
      base_instructions: `${SYSTEM[role]}\n\n${NOTE}`,
      default_reasoning_level: null,
      supported_reasoning_levels: [],
      supports_reasoning_summaries: true,
      default_reasoning_summary: 'none',
      shell_type: 'disabled',
      apply_patch_tool_type: null,
      web_search_tool_type: 'text',
      experimental_supported_tools: [],
      supports_search_tool: false,
      supports_parallel_tool_calls: true,
      // Our tools bound their results themselves.
      truncation_policy: { mode: 'tokens', limit: 100_000 },
      // The provider says when a conversation is too long; the session is then begun anew.
      context_window: 1_000_000_000,
      max_context_window: 1_000_000_000,
      auto_compact_token_limit: null,
      effective_context_window_percent: 100,
      input_modalities: ['text'],
      supports_image_detail_original: false,
      support_verbosity: false,
      default_verbosity: null,
      use_responses_lite: false,
      visibility: 'list',
      supported_in_api: true,
      priority: 1,
      additional_speed_tiers: [],
      service_tiers: [],
      availability_nux: null,
      upgrade: null,
    },
  ],
})

const TOKEN = 'REVIEWLOOP_TURN_TOKEN'
const WEEK_MS = 7 * 24 * 3_600_000

/** The home of a turn: the catalogue, an empty folder to work in, and the thread's file where there is one. */
export const openHome = async (role: AgentTurn['role'], settings: CodexSettings, rollout: Rollout | null): Promise<CliHome> => {
  // It runs no program and talks to loopback alone: where programs are, and the way out of the network, is not for it to know.
  const { LANG, LC_ALL, TZ } = process.env
  const home = await openCliHome({
    source: { LANG, LC_ALL, TZ },
    set: (folder) => ({ CODEX_HOME: join(folder, 'codex'), PATH: join(folder, 'empty'), NO_PROXY: '127.0.0.1' }),
  })
  await mkdir(join(home.folder, 'empty'))
  await mkdir(join(home.folder, 'codex'), { mode: 0o700 })
  await writeFile(join(home.folder, 'catalog.json'), JSON.stringify(catalog(settings, role)))
  if (rollout) {
    const file = join(home.folder, 'codex', rollout.path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, rollout.lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
  }
  return home
}

export const commandOptions = (home: CliHome, gate: Pick<Gate, 'url' | 'token'>) => ({
  env: { ...home.environment, [TOKEN]: gate.token },
  config: {
    model_provider: 'reviewloop',
    model_providers: {
      reviewloop: {
        name: 'reviewloop',
        base_url: gate.url,
        env_key: TOKEN,
        wire_api: 'responses',
        supports_websockets: false,
        request_max_retries: 0,
        stream_max_retries: 0,
        stream_idle_timeout_ms: WEEK_MS,
      },
    },
    mcp_servers: {
      files: {
        url: `${gate.url}/tools`,
        bearer_token_env_var: TOKEN,
        required: true,
        default_tools_approval_mode: 'approve',
        tool_timeout_sec: 600,
      },
    },
    model_catalog_json: join(home.folder, 'catalog.json'),
    project_doc_max_bytes: 0,
    include_environment_context: false,
    include_permissions_instructions: false,
    include_apps_instructions: false,
    skills: { bundled: { enabled: false }, include_instructions: false },
    tools: { experimental_request_user_input: { enabled: false } },
    features: Object.fromEntries(OFF.map((name) => [name, false])),
    shell_environment_policy: { inherit: 'none' },
    history: { persistence: 'none' },
    cli_auth_credentials_store: 'file',
    check_for_update_on_startup: false,
    analytics: { enabled: false },
    feedback: { enabled: false },
    otel: { exporter: 'none', metrics_exporter: 'none', trace_exporter: 'none' },
  } satisfies { [key: string]: ConfigValue },
})

export const threadOptions = (home: CliHome, { model, effort }: CodexSettings): ThreadOptions => ({
  model,
  sandboxMode: 'read-only',
  workingDirectory: join(home.folder, 'empty'),
  skipGitRepoCheck: true,
  webSearchMode: 'disabled',
  approvalPolicy: 'never',
  ...(effort === null ? {} : { modelReasoningEffort: effort }),
})

/** The file of a thread as it is now; null where there is none. */
export const readRollout = async ({ folder }: Pick<CliHome, 'folder'>, thread: string): Promise<Rollout | null> => {
  const root = join(folder, 'codex')
  const found = await readdir(join(root, 'sessions'), { recursive: true }).catch(() => [])
  const name = found.find((one) => one.endsWith(`${thread}.jsonl`))
  if (name === undefined) return null
  const path = `sessions/${name}`
  const text = await readFile(join(root, path), 'utf8')
  // A line without an end was being written when the tool was stopped.
  return { path, lines: text.split('\n').slice(0, -1) }
}
