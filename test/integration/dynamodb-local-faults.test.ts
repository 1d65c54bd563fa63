/** Whole runs under fault, with DynamoDB Local where the embedded engine has its tables. */
import { expect, inject } from 'vitest'
import { play } from '../support/faults/play.ts'
import { testWith } from '../support/needs.ts'
import { openBridge } from '../support/table-bridge.ts'

const SEEDS = process.env['REVIEWLOOP_LONG'] ? 300 : 20

testWith('java')(
  `${SEEDS} worlds of faults hold on DynamoDB Local`,
  async () => {
    const ends = new Set<string>()
    for (let seed = 1; seed <= SEEDS; seed++) {
      const bridge = await openBridge(inject('dynamodbLocal'))
      try {
        const { violations, ends: found } = await play(seed, { tables: bridge.socket })
        expect(violations, `seed ${seed}`).toEqual([])
        expect(bridge.asked(), 'requests that DynamoDB Local had').toBeGreaterThan(10)
        for (const end of found) ends.add(end)
      } finally {
        await bridge.close()
      }
    }
    expect(ends.size).toBeGreaterThan(2)
  },
  SEEDS * 20_000,
)
