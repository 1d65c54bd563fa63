/** Announcements of the embedded engine: this very process tells the forge, one after the other. */
import type { Ports } from '../loop/ports.ts'
import { tellAside } from '../loop/tell.ts'

/** Nobody waits for it longer than this, ms. */
const MOST_MS = 120_000

export const announcer = (portsOf: () => Ports): Ports['announce'] => {
  let last: Promise<void> = Promise.resolve()
  return (runId, { begun } = { begun: false }) => {
    const ports = portsOf()
    if (!ports.teller) return Promise.resolve()
    const deadline = () => ports.effects.now() + MOST_MS
    last = last.then(() => tellAside(ports, { runId, begun }, { deadline: deadline(), signal: AbortSignal.timeout(MOST_MS) }))
    return last
  }
}
