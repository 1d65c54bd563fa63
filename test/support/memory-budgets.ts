/** Counters in memory, held to the same contract as those of the table. */
import type { BudgetStore, Place } from '../../lib/loop/ports.ts'

export const memoryBudgets = (): BudgetStore => {
  const days = new Map<string, { tokens: number; microdollars: number; counted: Set<string>; told: Set<string> }>()
  const scopes = new Map<string, Map<string, Place>>()
  const dayOf = (scope: string, day: string) => {
    const found = days.get(`${scope} ${day}`) ?? { tokens: 0, microdollars: 0, counted: new Set(), told: new Set<string>() }
    days.set(`${scope} ${day}`, found)
    return found
  }
  const placesOf = (scope: string): Map<string, Place> => {
    const found = scopes.get(scope) ?? new Map<string, Place>()
    scopes.set(scope, found)
    return found
  }
  return {
    add: async (scope, { day, id, tokens, microdollars }) => {
      const counter = dayOf(scope, day)
      if (counter.counted.has(id)) return
      counter.counted.add(id)
      counter.tokens += tokens
      counter.microdollars += microdollars
    },
    spent: async (scope, day) => {
      const { tokens, microdollars } = dayOf(scope, day)
      return { tokens, microdollars }
    },
    tellOnce: async (scope, day, bound) => {
      const { told } = dayOf(scope, day)
      const first = !told.has(bound)
      told.add(bound)
      return first
    },
    places: async (scope) => [...placesOf(scope)].map(([branch, place]) => ({ branch, ...place })),
    enter: async (scope, { branch, run, at, most }) => {
      const places = placesOf(scope)
      const before = places.get(branch) ?? null
      if (!before && places.size >= most) return { entered: false, before: null }
      places.set(branch, { run, at })
      return { entered: true, before }
    },
    leave: async (scope, { branch, run }, before = null) => {
      const places = placesOf(scope)
      if (places.get(branch)?.run !== run) return
      if (before) places.set(branch, before)
      else places.delete(branch)
    },
  }
}
