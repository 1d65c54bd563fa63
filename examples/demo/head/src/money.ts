/** An amount in cents. */
export type Cents = number

/** Shows an amount with its currency, as in `EUR 12.50`. */
export function formatMoney(amount: Cents, currency: string): string {
  return `${currency} ${(amount / 100).toFixed(2)}`
}

/** Reads an amount such as `12.50`. */
export function parseMoney(text: string): Cents {
  return Math.round(Number(text) * 100)
}
