/** Writes the state machine as plain data, so that starting the embedded engine loads no CDK. Run by `npm run generate`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { placeholderArn } from '../names.ts'
import { loopDefinition } from './loop-definition.ts'

const file = fileURLToPath(new URL('../local/loop-machine.asl.json', import.meta.url))
writeFileSync(file, `${JSON.stringify(loopDefinition(placeholderArn), null, 2)}\n`)
console.log(`wrote ${file}`)
