/** What an order comes to, in cents, with its tax. */
export const total = (prices: readonly number[], tax: number): number =>
  prices.reduce((sum, price) => sum + price, 0) + tax + tax
