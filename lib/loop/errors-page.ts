/** docs/errors.md, made from the catalogue, so that the two cannot differ. */
import { ERRORS, type ErrorClass, errorsOfClass } from './errors.ts'

const CLASSES: readonly (readonly [cls: ErrorClass, title: string, about: string])[] = [
  ['user', 'For you to mend', 'The run ends, or the request is refused; the remedy says what to do.'],
  ['transient', 'Retried', 'The state machine tries again; only when its tries are used up does the run fail.'],
  ['service', 'Faults', 'Of this system or of one that it calls. Not retried.'],
  ['stale', 'Stale', 'The worker or execution no longer speaks for its run: it ends silently, and nothing has failed.'],
]

const cell = (text: string): string => text.replaceAll('|', '\\|')

export const errorsPage = (): string => {
  const sections = CLASSES.flatMap(([cls, title, about]) => [
    '',
    `## ${title}`,
    '',
    `${about} Class \`${cls}\`.`,
    '',
    '| Error | What happened | What to do | HTTP |',
    '| --- | --- | --- | --- |',
    ...errorsOfClass(cls).map(
      (name) => `| \`${name}\` | ${cell(ERRORS[name].meaning)} | ${cell(ERRORS[name].remedy)} | ${ERRORS[name].http} |`,
    ),
  ])
  const intro =
    'Every error has a row here. The name is what the state machine matches, what the API answers and what the command line prints.'
  return `${['# Errors', '', intro, 'This page is made from `lib/loop/errors.ts`.', ...sections].join('\n')}\n`
}
