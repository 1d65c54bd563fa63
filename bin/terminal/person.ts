import { userInfo } from 'node:os'

/** Who decides and aborts, as the record names them. */
export const person = (): string => {
  try {
    return userInfo().username
  } catch {
    return 'somebody'
  }
}
