/** What the small agent of the tests does. Everything that is left out is as a good agent does it. */
export interface SmallAgentOptions {
  name?: string
  version?: string
  /** Version of the protocol that it answers with. */
  protocol?: number
  /** How it opens a session again; null for not at all. */
  resume?: 'resume' | 'load' | null
  /** What it does with a session that it does not know: says so, fails in some other way, or begins a new one and says nothing. */
  unknown?: 'not-found' | 'error' | 'new' | 'new-told'
  /** How it gives its answer. `silent`: not at all. */
  answer?: 'tool' | 'text' | 'fence' | 'cut' | 'silent'
  /** It does not answer well before it was asked to repair it. */
  misfit?: boolean
  /** In the middle of a turn, after its first tool: it dies, hangs and hears nothing, or hangs until it is called off. */
  trouble?: 'die' | 'deaf' | 'slow'
  /** Error that it answers a prompt with. */
  error?: { code: number; message: string; data?: unknown }
  stop?: 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'
  /** What it asks before its work. What came of it is in its summary, as JSON. */
  ask?: (
    | { permission: { kind?: string; title: string; path?: string; earlier?: string }; options?: string[] }
    | { read: string; line?: number; limit?: number }
    | { write: string; content: string }
    | { environment: string[] }
    | { tool: string; input: Record<string, unknown> }
  )[]
  /** Tokens of each answer, and what the session has cost. */
  usage?: { inputTokens: number; outputTokens: number; totalTokens: number; cachedReadTokens?: number }
  context?: number
  cost?: { amount: number; currency: string }
  /** Words that it looks for, one by one mended to the next. */
  words?: string[]
  /** It wants a login by this method first. */
  login?: string
  /** It leaves a child behind, whose pid is written there. */
  child?: string
  /** A file of so many bytes stands in its state. */
  ballast?: number
}
