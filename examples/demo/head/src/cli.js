import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { subtotal, taxOn } from './invoice.ts'
import { formatMoney } from './money.ts'

let { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { country: { type: 'string', default: 'DE' }, net: { type: 'boolean' } },
})
const lines = JSON.parse(readFileSync(positionals[0], 'utf8'))
const rates = JSON.parse(readFileSync(new URL('../data/rates.json', import.meta.url), 'utf8'))
const net = subtotal(lines)
let tax = taxOn(net, rates, values.country)

console.log(formatMoney(net, 'EUR'))
if (!values.net) console.log(formatMoney(net + tax, 'EUR'))
if (!!tax) console.log(`of which tax: ${formatMoney(tax, 'EUR')}`)
