import type { Cents } from './money.ts'

export interface Line {
  name: string
  price: Cents
  count: number
}

/** Sum of all lines, without tax. */
export function subtotal(lines: Line[]): Cents {
  return lines.reduce((sum, line) => sum + line.price * line.count, 0)
}
