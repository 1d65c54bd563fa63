/** A repository with as many branches as are measured, each with a change of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { makeRepository, type TestRepository } from '../test/support/git-repository.ts'
import type { Branch } from './measured-loop.ts'
import { FILE } from './scenario.ts'

const WHO = 'Bench <bench@reviewloop.invalid> 1700000000 +0000'
const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`

export const withBranches = async <T>(count: number, use: (branches: Branch[]) => Promise<T>): Promise<T> => {
  const repository = await makeRepository()
  try {
    const base = await repository.commit('base', { [FILE]: 'base\n', 'README.md': '# Measured\n' })
    await importBranches(repository, count)
    const heads = (await repository.git('for-each-ref', '--format=%(objectname) %(refname:short)', 'refs/heads/change-*')).split('\n')
    return await use(heads.map((line) => ({ repository: repository.path, base, head: line.slice(0, 40), branch: line.slice(41) })))
  } finally {
    await repository.close()
  }
}

const importBranches = async (repository: TestRepository, count: number): Promise<void> => {
  const child = spawn('git', ['fast-import', '--quiet'], { cwd: repository.path, stdio: ['pipe', 'ignore', 'inherit'] })
  for (let number = 1; number <= count; number++) {
    const change = `commit refs/heads/change-${number}\ncommitter ${WHO}\n${data(`Change ${number}`)}from refs/heads/main^0\n`
    child.stdin.write(`${change}M 100644 inline ${FILE}\n${data(`changed ${number}\n`)}\n`)
  }
  child.stdin.end('done\n')
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`)
}
