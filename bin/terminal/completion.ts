/** Completion scripts for shells, from the tree of commands: commands, their flags, and the values where only some are allowed. */
import type { Argument, Command, Option } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

interface Entry {
  name: string
  about: string
  flags: { names: string[]; about: string; takesValue: boolean; choices: readonly string[] }[]
  /** Values of its argument, where only some are allowed. */
  choices: readonly string[]
}

const entryOf = (command: Command): Entry => ({
  name: command.name(),
  about: command.description(),
  flags: command.options.map(({ long, short, description, required, optional, argChoices }: Option) => ({
    names: [long, short].filter((name) => name !== undefined && name !== null),
    about: description,
    takesValue: required || optional,
    choices: argChoices ?? [],
  })),
  choices: command.registeredArguments.flatMap(({ argChoices }: Argument) => argChoices ?? []),
})

/** A word for bash and zsh, or for fish, where a quote is escaped otherwise. */
const quoted = (text: string, shell: Shell = 'bash'): string =>
  shell === 'fish' ? `'${text.replace(/[\\']/g, '\\$&')}'` : `'${text.replaceAll("'", `'\\''`)}'`

const flagNames = ({ flags }: Entry): string[] => flags.flatMap(({ names }) => names)

/** Pairs of a command and what stands before the word that is completed, with the values that are allowed there; none: a file. */
const valuesAfter = (entries: readonly Entry[]): { places: string[]; choices: readonly string[] }[] =>
  entries.flatMap(({ name, flags }) =>
    flags.flatMap(({ names, takesValue, choices }) =>
      takesValue ? [{ places: names.map((flag) => quoted(`${name} ${flag}`)), choices }] : [],
    ),
  )

const bash = (program: string, entries: readonly Entry[]): string => `# bash completion of ${program}: eval "$(${program} completion bash)"
_${program}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command='' word flags='' values=''
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${entries.map(({ name }) => name).join('|')}) command="$word"; break ;;
    esac
  done
  case "$command $previous" in
${valuesAfter(entries)
  .map(
    ({ places, choices }) =>
      `    ${places.join('|')}) ${choices.length ? `COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$current")); ` : ''}return ;;`,
  )
  .join('\n')}
  esac
  case "$command" in
    '') flags='--help --version'; values=${quoted(entries.map(({ name }) => name).join(' '))} ;;
${entries.map((entry) => `    ${entry.name}) flags=${quoted([...flagNames(entry), '--help'].join(' '))}; values=${quoted(entry.choices.join(' '))} ;;`).join('\n')}
  esac
  if [[ "$current" == -* ]]; then values="$flags"; fi
  if [[ -n "$values" ]]; then COMPREPLY=($(compgen -W "$values" -- "$current")); fi
}
complete -o default -F _${program} ${program}
`

const described = (name: string, about: string): string => quoted(`${name.replaceAll(':', '\\:')}:${about}`)

const zsh = (program: string, entries: readonly Entry[]): string => `#compdef ${program}
# zsh completion of ${program}: eval "$(${program} completion zsh)", after compinit
_${program}() {
  local command='' word
  local -a flags values
  for word in \${words[2,CURRENT-1]}; do
    case "$word" in
      (${entries.map(({ name }) => name).join('|')}) command="$word"; break ;;
    esac
  done
  case "$command \${words[CURRENT-1]}" in
${valuesAfter(entries)
  .map(
    ({ places, choices }) =>
      `    (${places.join('|')}) ${choices.length ? `compadd -- ${choices.map((choice) => quoted(choice)).join(' ')}` : '_files'}; return ;;`,
  )
  .join('\n')}
  esac
  case "$command" in
    ('') flags=(--help --version); values=(${entries.map(({ name, about }) => described(name, about)).join(' ')}) ;;
${entries
  .map(
    ({ name, flags, choices }) =>
      `    (${name}) flags=(${flags.flatMap(({ names, about }) => names.map((flag) => described(flag, about))).join(' ')} --help); values=(${choices.map((choice) => quoted(choice)).join(' ')}) ;;`,
  )
  .join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then _describe flag flags; elif (( $#values )); then _describe value values; else _files; fi
}
if [[ "\${funcstack[1]}" == _${program} ]]; then _${program} "$@"; else compdef _${program} ${program}; fi
`

const fish = (program: string, entries: readonly Entry[]): string => {
  const none = `complete -c ${program} -n __fish_use_subcommand`
  const lines = entries.flatMap(({ name, about, flags, choices }) => {
    const within = `complete -c ${program} -n ${quoted(`__fish_seen_subcommand_from ${name}`, 'fish')}`
    return [
      `${none} -f -a ${name} -d ${quoted(about, 'fish')}`,
      ...(choices.length ? [`${within} -f -a ${quoted(choices.join(' '), 'fish')}`] : []),
      ...flags.map(({ names, about: said, takesValue, choices: allowed }) => {
        const spelt = names.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(' ')
        const value = allowed.length ? ` -x -a ${quoted(allowed.join(' '), 'fish')}` : takesValue ? ' -r' : ''
        return `${within} ${spelt}${value} -d ${quoted(said, 'fish')}`
      }),
    ]
  })
  return [`# fish completion of ${program}: ${program} completion fish | source`, `${none} -l version`, ...lines, ''].join('\n')
}

const SCRIPTS = { bash, zsh, fish } as const satisfies Record<Shell, (program: string, entries: readonly Entry[]) => string>

/** The script of a shell for a program's commands. */
export const completionScript = (program: Command, shell: Shell): string =>
  SCRIPTS[shell](
    program.name(),
    program.commands.map((command) => entryOf(command)),
  )
