/** Table `Sessions`: the turn items, keyed `<runId>#<role>`. */
import { turnItem } from '../../loop/items.ts'
import type { SessionStore } from '../../loop/ports.ts'
import { roleKey } from '../../names.ts'
import { casItems, type TableAccess } from './cas-item.ts'

export const dynamoSessions = (access: TableAccess): SessionStore =>
  casItems(access, turnItem, ({ runId, role }) => ({ pk: roleKey(runId, role) }))
