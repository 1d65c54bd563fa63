import { formatMoney } from './money.ts'
import type { Cents } from './money.ts'

export interface Line {
  name: string
  price: Cents
  count: number
}

/** From so many pieces on, so much off. */
const DISCOUNTS: [pieces: number, off: number][] = [
  [100, 0.12],
  [10, 0.05],
]

function discountOf(line: Line): number {
  var step = DISCOUNTS.find(([pieces]) => line.count >= pieces)
  return step ? step[1] : 0
}

/** Sum of all lines, without tax. */
export function subtotal(lines: Line[]): Cents {
  var sum = 0
  for (const line of lines) {
    var full = line.price * line.count
    sum += Math.round(full * (1 - discountOf(line)))
  }
  return sum
}

/** Tax on an amount; a country without a rate pays none. */
export function taxOn(amount: Cents, rates: Record<string, unknown>, country: string): Cents {
  const rate = rates[country]
  if (typeof rate == 'number') return Math.round(amount * rate)
  return 0
}
