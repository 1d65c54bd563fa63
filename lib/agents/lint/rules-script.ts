/** Rules for JavaScript and TypeScript: ESLint's own and those of typescript-eslint that need no types. */
import { defect, fixable, note, suspect, type RuleTable, type Site } from './rule.ts'

/** Names that JSX uses without writing them, under one transform or another. */
const JSX_NAMES = '^(?:_.*|React|h|jsx|jsxs|Fragment|createElement)$'

/** Taking the last import or export out makes a script of a module, which changes what its names mean. */
const staysModule = ({ text, raw }: Site): boolean => {
  const left = raw.edits
    .toSorted((a, b) => b.start - a.start)
    .reduce((all, edit) => all.slice(0, edit.start) + edit.text + all.slice(edit.end), text)
  return /^[ \t]*(?:import|export)\b/mu.test(left)
}

export const SCRIPT_RULES: RuleTable = {
  // mended without asking
  'no-var': fixable('Its scope is the whole function.'),
  'prefer-const': fixable('A reader has to look for an assignment that never comes.', undefined, { options: [{ destructuring: 'all' }] }),
  'no-extra-boolean-cast': fixable('The value is converted already.'),
  'no-regex-spaces': fixable('The number of spaces cannot be read off.'),
  'no-unused-labels': fixable('Nothing jumps to it.'),
  'no-useless-rename': fixable('The name stays the same.'),
  eqeqeq: fixable('Loose comparison converts its operands.', undefined, { options: ['always', { null: 'ignore' }] }),
  '@typescript-eslint/prefer-as-const': fixable('The literal is written twice.'),
  '@typescript-eslint/no-extra-non-null-assertion': fixable('It asserts what is asserted already.'),
  '@typescript-eslint/no-unused-vars': note('', {
    safe: staysModule,
    options: [
      {
        args: 'none',
        caughtErrors: 'none',
        ignoreRestSiblings: true,
        varsIgnorePattern: JSX_NAMES,
        enableAutofixRemoval: { imports: true },
      },
    ],
  }),

  // wrong for certain
  'constructor-super': defect('The constructor throws when it is called.'),
  'for-direction': defect('The loop does not end as it reads.'),
  'getter-return': defect('Reading the property gives undefined.'),
  'no-class-assign': defect('The class is lost.'),
  'no-compare-neg-zero': defect('The comparison also holds for +0.'),
  'no-const-assign': defect('It throws when it is reached.'),
  'no-dupe-args': defect('The first argument cannot be reached.'),
  'no-dupe-class-members': defect('The earlier member is lost.'),
  '@typescript-eslint/no-dupe-class-members': defect('The earlier member is lost.'),
  'no-dupe-else-if': defect('The branch can never run.'),
  'no-dupe-keys': defect('The earlier value is lost.'),
  'no-duplicate-case': defect('The later case can never run.'),
  'no-import-assign': defect('Imports are read-only: it throws.'),
  'no-invalid-regexp': defect('It throws when it is reached.'),
  'no-new-native-nonconstructor': defect('It throws when it is reached.'),
  'no-obj-calls': defect('It throws when it is reached.'),
  'no-self-assign': defect('It does nothing: another operand was meant.'),
  'no-setter-return': defect('The value is thrown away.'),
  'no-this-before-super': defect('It throws when it is reached.'),
  'no-unreachable': defect('The code never runs.'),
  'no-unsafe-finally': defect('It swallows what was thrown or returned before.'),
  'no-unsafe-negation': defect('The negation binds to the left operand alone.'),
  'no-unsafe-optional-chaining': defect('It throws where the chain stops short.'),
  'use-isnan': defect('NaN equals nothing, itself included.'),
  'valid-typeof': defect('typeof never gives that text.'),
  '@typescript-eslint/no-duplicate-enum-values': defect('Two members cannot be told apart.'),
  '@typescript-eslint/no-misused-new': defect('It does not declare a constructor.'),

  // nearly always wrong
  // in a loop it is an idiom
  'no-cond-assign': suspect('An assignment stands where a comparison is expected.', {
    holds: ({ lineText }) => /\bif\b|\?/u.test(lineText),
  }),
  'no-func-assign': suspect('The function is lost.'),
  'no-loss-of-precision': suspect('The number is not the one that is written.'),
  'no-constant-binary-expression': suspect('The outcome is always the same.'),
  'no-debugger': suspect('It stops the program where a debugger is attached.'),
  'no-empty-character-class': suspect('It can never match.'),
  'no-ex-assign': suspect('The error is lost.'),
  'no-global-assign': suspect('It changes a built-in for everybody.'),
  'no-misleading-character-class': suspect('It matches parts of what is written.'),
  'no-shadow-restricted-names': suspect('A built-in name means something else from here on.'),
  // `let a!: T` says that it is assigned elsewhere
  'no-unassigned-vars': suspect('It is read and always undefined.', { holds: ({ lineText }) => !/!\s*:/u.test(lineText) }),
  'no-unexpected-multiline': suspect('The two lines are read as one expression.'),
  'no-useless-backreference': suspect('It always matches the empty text.'),

  // for information
  'no-unused-vars': note('', { options: [{ args: 'none', caughtErrors: 'none', ignoreRestSiblings: true, varsIgnorePattern: JSX_NAMES }] }),
  'no-async-promise-executor': note('What it throws is lost.'),
  'no-constant-condition': note('The outcome is always the same.', { options: [{ checkLoops: 'none' }] }),
  'no-empty': note('Nothing says why nothing is done.'),
  'no-fallthrough': note('If it is meant, a comment `falls through` says so.'),
  'no-self-compare': note('Number.isNaN says what is meant.'),
  'no-sparse-arrays': note('The array has a hole.'),
  'no-template-curly-in-string': note('A template literal was perhaps meant.'),
  'no-unreachable-loop': note('The loop runs once at most.'),
  'no-unused-private-class-members': note('Nothing can reach it.'),
  'no-useless-catch': note('It only throws again what it caught.'),
  'no-useless-escape': note('The backslash does nothing.'),
  '@typescript-eslint/no-non-null-asserted-optional-chain': note('The chain may give undefined, and the assertion hides it.'),
}
