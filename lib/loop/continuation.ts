/** A turn that goes on where the one before stopped at a checkpoint. */
import { STATE_OF_ROLE } from '../names.ts'
import type { Checkpoint } from './items.ts'
import type { Claimed } from './turns.ts'

/** The turn before was the same role's and stopped at a checkpoint: this one goes on in the same session with no new prompt. */
export const isContinuation = ({ role, input }: Pick<Claimed, 'role' | 'input'>): boolean =>
  input.last !== null && input.last.step === STATE_OF_ROLE[role] && input.last.ended === 'checkpoint'

/** The checkpoint to go on from: the one that the role left in the very turn before. null where there is none, or it is lost. */
export const checkpointOf = (claimed: Pick<Claimed, 'role' | 'input' | 'item'>): Checkpoint | null => {
  const { checkpoint } = claimed.item
  return isContinuation(claimed) && checkpoint?.turn === claimed.input.turn ? checkpoint : null
}
