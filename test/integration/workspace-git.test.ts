import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LoopError } from '../../lib/loop/errors.ts'
import { git, runGit } from '../../lib/workspace/git.ts'
import { temporaryFolder } from '../support/git-repository.ts'

const PATH = process.env['PATH'] ?? ''
const HOME = process.env['HOME'] ?? ''
let folder = ''
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  process.env['PATH'] = PATH
  process.env['HOME'] = HOME
  await rm(folder, { recursive: true })
})

/** Puts a program called git in front of the real one. */
const fakeGit = async (script: string): Promise<void> => {
  await mkdir(join(folder, 'bin'))
  await writeFile(join(folder, 'bin', 'git'), `#!/bin/sh\n${script}\n`)
  await chmod(join(folder, 'bin', 'git'), 0o755)
  process.env['PATH'] = `${join(folder, 'bin')}${delimiter}${PATH}`
}
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
const pidIn = async (name: string): Promise<number> => {
  for (;;) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '')
    if (text.endsWith('\n')) return Number(text)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
const gone = async (pid: number): Promise<void> => {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('running git', () => {
  it('gives exit code, output and complaint, and a typed error where it has to succeed', async () => {
    expect(await runGit(['version'])).toMatchObject({ code: 0, stderr: '' })
    expect(await runGit(['rev-parse', 'HEAD'], { cwd: folder })).toMatchObject({ code: 128 })
    await expect(git(['rev-parse', 'HEAD'], { cwd: folder })).rejects.toMatchObject({
      name: 'GitFailed',
      message: expect.stringContaining('not a git repository'),
    })
    await expect(git(['version'], { cwd: join(folder, 'nowhere') })).rejects.toMatchObject({ name: 'GitFailed' })
    expect((await git(['hash-object', '--stdin'], { input: 'x\n' })).toString()).toBe('587be6b4c3f93f93c489c0111bba5596147a26cb\n')
  })

  it('ends at its deadline, with every process that it started', async () => {
    await fakeGit(`sh -c 'trap "" TERM; echo $$ > ${folder}/pid; sleep 60; sleep 60' & wait`)
    const running = git(['status'], { deadline: Date.now() + 1500 })
    const [pid] = await Promise.all([pidIn('pid'), expect(running).rejects.toMatchObject({ name: 'GitTimedOut' })])
    await gone(pid)
    await expect(git(['status'], { deadline: Date.now() - 1 })).rejects.toMatchObject({ name: 'GitTimedOut' })
  })

  it('ends when it is told to, with the reason', async () => {
    await fakeGit(`echo $$ > ${folder}/pid; exec sleep 60`)
    const reasons = [
      [undefined, 'Interrupted'],
      [new DOMException('late', 'TimeoutError'), 'GitTimedOut'],
      [new LoopError('StaleExecution'), 'StaleExecution'],
    ] as const
    for (const [reason, name] of reasons) {
      const stop = new AbortController()
      const running = git(['status'], { signal: stop.signal })
      const pid = await pidIn('pid')
      stop.abort(reason)
      await expect(running).rejects.toMatchObject({ name })
      await gone(pid)
      await rm(join(folder, 'pid'))
      await expect(git(['status'], { signal: stop.signal })).rejects.toMatchObject({ name })
    }
  })

  it('reads no more than allowed', async () => {
    await fakeGit('exec yes')
    await expect(git(['log'], { maxBytes: 1000, tooLarge: 'over limits.bytes' })).rejects.toMatchObject({
      name: 'ChangeTooLarge',
      message: 'over limits.bytes',
    })
  })

  it('stops at the first fault of the reader', async () => {
    await fakeGit('exec yes')
    const onStdout = (): void => {
      throw new LoopError('ChangeTooLarge', 'enough')
    }
    await expect(git(['log'], { onStdout })).rejects.toMatchObject({ name: 'ChangeTooLarge', message: 'enough' })
  })

  it('shows no secret and no credential of an address', async () => {
    await fakeGit('echo "fatal: https://u:p4ss@h/x s3cret" >&2; exit 128')
    await expect(git(['fetch'], { secrets: ['s3cret'] })).rejects.toMatchObject({
      message: 'git fetch ended with 128: fatal: https://***@h/x ***',
    })
  })

  it('says so where git is missing', async () => {
    process.env['PATH'] = folder
    await expect(git(['version'])).rejects.toMatchObject({ name: 'GitFailed', message: expect.stringContaining('not installed') })
  })

  it('takes no configuration of the machine, the person, or the environment', async () => {
    process.env['GIT_CONFIG_PARAMETERS'] = "'alias.x=!echo pwned'"
    await writeFile(join(folder, '.gitconfig'), '[alias]\n\tx = !echo pwned\n')
    process.env['HOME'] = folder
    process.env['GIT_CONFIG_SYSTEM'] = join(folder, '.gitconfig')
    const result = await runGit(['x'])
    delete process.env['GIT_CONFIG_PARAMETERS']
    delete process.env['GIT_CONFIG_SYSTEM']
    expect(result.code).not.toBe(0)
    expect(result.stdout.toString()).toBe('')
    expect(await readdir(folder)).toEqual(['.gitconfig'])
  })
})
