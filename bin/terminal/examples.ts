/** Examples that the help of each command shows: what is typed, and what for. */
export const EXAMPLES: Readonly<Record<string, readonly (readonly [typed: string, what: string])[]>> = {
  run: [
    ['reviewloop run', 'review HEAD against its base'],
    ['reviewloop run ../project --base main --yes', 'review another repository, ask nobody'],
    ['reviewloop run --agent claude lint --output sarif=out.sarif', 'claude where it is there, else the linters; SARIF, too'],
    ['reviewloop run --again --rounds 1', 'the same change once more, with one round of fixing'],
  ],
  resume: [
    ['reviewloop resume', 'go on with the newest run that has not ended'],
    ['reviewloop resume r-0123 --yes', 'go on with this one (the beginning of its id), ask nobody'],
  ],
  list: [
    ['reviewloop list --status parked', 'runs that wait for a person'],
    ['reviewloop list --output json', 'all of them, for a program'],
  ],
  show: [
    ['reviewloop show', 'the newest run, with the history of its findings'],
    ['reviewloop show r-0123 --output patch=fixes.patch', 'its fixes as a patch'],
  ],
  sessions: [
    ['reviewloop sessions', 'the sessions of the newest run, turn by turn'],
    ['reviewloop sessions r-0123 --json', 'the same, for a program'],
  ],
  cost: [
    ['reviewloop cost', 'what the newest run cost'],
    ['reviewloop cost r-0123 --json', 'tokens and dollars by turn and role, for a program'],
  ],
  decide: [
    ['reviewloop decide --fix all --note "keep the old name"', 'one more round, with a word to the fixer'],
    ['reviewloop decide --approve', 'approve as it is'],
    ['reviewloop decide --add src/a.ts:12:"off by one" --question q-1', 'a finding of your own, if this is still the question'],
  ],
  abort: [
    ['reviewloop abort', 'end the newest run; its fixes are kept as a patch'],
    ['reviewloop abort r-0123 --quiet', 'end this one, without progress'],
  ],
  init: [
    ['reviewloop init', 'write .reviewloop.yaml in this repository'],
    ['reviewloop init ../project --force', 'replace the one that is there'],
  ],
  doctor: [
    ['reviewloop doctor', 'what is missing here'],
    ['reviewloop doctor --remote https://api.example.org', 'whether a deployment answers'],
  ],
  clean: [
    ['reviewloop clean --older-than 4w --dry-run', 'what would go'],
    ['reviewloop clean --older-than 0d --yes', 'take all ended runs away'],
  ],
  demo: [
    ['reviewloop demo', 'a run on a small repository with defects'],
    ['reviewloop demo --stubborn', 'one that parks and asks'],
  ],
  start: [
    [
      'reviewloop start --remote https://api.example.org --repository https://git.example.org/team/project --branch work --wait',
      'start a run in a deployment, and follow it',
    ],
  ],
  serve: [
    ['reviewloop serve', 'answer the API for the repository around this folder'],
    ['reviewloop serve --port 0 --deployment deployment.json', 'for the repositories of a file, on a port that is free'],
  ],
  completion: [
    ['eval "$(reviewloop completion bash)"', 'in ~/.bashrc'],
    ['reviewloop completion fish | source', 'in config.fish'],
  ],
}

/** What the help of a command ends with. */
export const examplesOf = (command: string): string => {
  const lines = (EXAMPLES[command] ?? []).map(([typed, what]) => `  ${typed}\n      ${what}`)
  return lines.length ? `\nExamples\n${lines.join('\n')}\n` : ''
}
