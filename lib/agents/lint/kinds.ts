/** Which linter reads which file, and what is not read at all. */

export const KINDS = ['js', 'mjs', 'cjs', 'ts', 'tsx', 'dts', 'json', 'jsonc', 'json5', 'css', 'markdown', 'python'] as const
export type Kind = (typeof KINDS)[number]

const BY_EXTENSION: Readonly<Record<string, Kind>> = {
  js: 'js',
  jsx: 'js',
  mjs: 'mjs',
  cjs: 'cjs',
  ts: 'ts',
  mts: 'ts',
  cts: 'ts',
  tsx: 'tsx',
  json: 'json',
  webmanifest: 'json',
  jsonc: 'jsonc',
  json5: 'json5',
  css: 'css',
  md: 'markdown',
  markdown: 'markdown',
  py: 'python',
  pyi: 'python',
}

/** Files called .json whose readers take comments and commas at the end. */
const JSONC_FILES = [
  /^(?:ts|js)config(?:\..+)?\.json$/u,
  /^(?:api-extractor|tslint|typedoc|devcontainer|deno|turbo|nx|wrangler|\.eslintrc|\.oxlintrc|\.swcrc|\.babelrc)\.json$/u,
]

const GENERATED = [
  /^(?:package-lock|npm-shrinkwrap|composer\.lock)\.json$/u,
  /^(?:yarn|pnpm-lock|bun|poetry|uv|Pipfile|Cargo|Gemfile|composer)\.(?:lock|lockb|yaml)$/u,
  /\.min\.[cm]?(?:js|css)$/u,
  /\.map$/u,
]

/** The kind of a file by its path, or why no linter reads it. */
export const kindOf = (path: string): { kind: Kind } | { skip: string } => {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (GENERATED.some((pattern) => pattern.test(name))) return { skip: 'generated' }
  if (JSONC_FILES.some((pattern) => pattern.test(name)) || (name.endsWith('.json') && /(?:^|\/)\.vscode\//u.test(path)))
    return { kind: 'jsonc' }
  if (/\.d\.[cm]?ts$/u.test(name)) return { kind: 'dts' }
  const extension = /\.([^.]+)$/u.exec(name)?.[1]?.toLowerCase() ?? ''
  const kind = Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined
  return kind ? { kind } : { skip: `no linter for ${extension ? `.${extension} files` : 'files of this kind'}` }
}
