/** The import rules: `loop` ← `agents, stores, workspace, forge` ← `runtime` ← `functions` ← `lib/local` ← `bin`; `infra` beside them. */
const ADAPTERS = 'agents|stores|workspace|forge'
const inside = (...folders) => folders.map((folder) => `^${folder}(/|$)`)
const LOOP = [...inside('lib/loop'), '^lib/names\\.ts$']

/** What a layer may import of this repository; anything else of it is a violation. */
const layer = (name, from, ...allowed) => ({
  name: `${name}-imports-one-way`,
  comment: `${name} may import of this repository: ${allowed.join(', ')}`,
  severity: 'error',
  from: { path: from },
  to: { path: '^(bin|lib|functions|test|bench|\\.ci)/', pathNot: allowed },
})

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    layer('names', '^lib/names\\.ts$'),
    layer('loop', '^lib/loop/', ...LOOP),
    {
      name: 'loop-does-no-io',
      comment: 'lib/loop is pure: zod, yaml, picomatch, hashes and comparisons, nothing else',
      severity: 'error',
      from: { path: ['^lib/loop/', '^lib/names\\.ts$'] },
      to: {
        pathNot: ['^(lib|bin|functions|test)/', '(^|/)node_modules/(zod|yaml|picomatch|@types/picomatch)/', '^(node:)?(crypto|util)$'],
      },
    },
    ...['agents', 'stores', 'workspace'].map((adapter) => layer(adapter, `^lib/${adapter}/`, ...LOOP, ...inside(`lib/${adapter}`))),
    // A forge is reached by git, and git is the workspace's.
    layer('forge', '^lib/forge/', ...LOOP, ...inside('lib/forge', 'lib/workspace')),
    layer('runtime', '^lib/runtime/', ...LOOP, ...inside(`lib/(${ADAPTERS}|runtime)`)),
    layer('functions', '^functions/', ...LOOP, ...inside(`lib/(${ADAPTERS}|runtime)`, 'functions')),
    {
      name: 'a-function-imports-no-other',
      comment: 'what two functions share belongs into lib/',
      severity: 'error',
      from: { path: '^functions/([^/]+)/' },
      to: { path: '^functions/', pathNot: '^functions/$1/' },
    },
    layer('local', '^lib/local/', ...LOOP, ...inside(`lib/(${ADAPTERS}|runtime|local)`, 'functions')),
    {
      name: 'infra-takes-names-only',
      comment: 'what is deployed is described, not run: names.ts and paths',
      severity: 'error',
      from: { path: '^lib/infra/' },
      to: { path: '^(bin|lib|functions|test|bench|\\.ci)/', pathNot: [...inside('lib/infra'), '^lib/names\\.ts$'] },
    },
    {
      name: 'only-bin-takes-infra',
      comment: 'starting a run must not load CDK',
      severity: 'error',
      from: { path: '^(bin|lib|functions)/', pathNot: ['^lib/infra/', '^bin/app\\.ts$'] },
      to: { path: ['^lib/infra/', '(^|/)node_modules/(aws-cdk-lib|constructs|cdk-nag)/'] },
    },
    {
      name: 'only-infra-and-app-take-development-packages',
      comment: 'what runs for a user stands in dependencies',
      severity: 'error',
      from: { path: '^(bin|lib|functions)/', pathNot: ['^lib/infra/', '^bin/app\\.ts$'] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: '(^|/)node_modules/@types/' },
    },
    {
      name: 'no-barrels',
      comment: 'import from the file that has it',
      severity: 'error',
      from: { path: '^(bin|lib|functions)/' },
      to: { dependencyTypes: ['export'] },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    // A package of types alone has nothing that could be resolved.
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true, pathNot: '^@octokit/types$' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
}
