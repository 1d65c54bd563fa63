import type { Ports } from '../../lib/loop/ports.ts'
import { watch } from '../../lib/loop/watch.ts'

/** By the clock: says in metrics how things stand. Whatever the event is, answers the two counts. */
export const handler = (ports: Pick<Ports, 'runs' | 'effects'>) => (): Promise<{ atWork: number; waiting: number }> => watch(ports)
