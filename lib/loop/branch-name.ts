/** Names of branches, which are data: what git allows below refs/heads/, a leading dash and shell characters included. */
export const isBranchName = (name: string): boolean =>
  name !== '' &&
  name.length <= 255 &&
  !/[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$/u.test(name) &&
  name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'))
