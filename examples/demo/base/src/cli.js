import { readFileSync } from 'node:fs'
import { subtotal } from './invoice.ts'
import { formatMoney } from './money.ts'

const [file] = process.argv.slice(2)
const lines = JSON.parse(readFileSync(file, 'utf8'))
console.log(formatMoney(subtotal(lines), 'EUR'))
