/** `npm start`: the demo, or the command that stands after `--`. */
if (process.argv.length === 2) process.argv.push('demo')
await import('./reviewloop.ts')
