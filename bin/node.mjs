#!/usr/bin/env node
// The one file that is not TypeScript: a Node that cannot load a .ts file needs the check before it. A child dies with its launcher.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { fileURLToPath, pathToFileURL } from 'node:url'
if (!process.argv[2]?.endsWith('.ts')) process.argv.splice(2, 0, fileURLToPath(new URL('reviewloop.ts', import.meta.url)))
const refuse = () => process.exit(console.error(`reviewloop needs Node 22.18 or newer, this is ${process.version}: install one, or on Linux x64 npm install with optional packages`) ?? 2)
if (process.features.typescript) await import(pathToFileURL(process.argv.splice(1, 1) && process.argv[1]))
