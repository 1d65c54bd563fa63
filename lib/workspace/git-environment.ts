/** What every git process is given: an environment of its own and a configuration that leaves nothing to the machine or to a repository. */
import { delimiter } from 'node:path'

/** Passed on from this process where set: where programs are, how the network is reached, and whom TLS trusts. */
const PASSED_ON = [
  'PATH',
  'TMPDIR',
  'HTTPS_PROXY',
  'https_proxy',
  'HTTP_PROXY',
  'http_proxy',
  'ALL_PROXY',
  'all_proxy',
  'NO_PROXY',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GIT_SSL_CAINFO',
] as const

const HARDENED: Record<string, string> = {
  'core.hooksPath': '/dev/null',
  'core.symlinks': 'false',
  'core.fsmonitor': 'false',
  'core.untrackedCache': 'false',
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'core.autocrlf': 'false',
  'core.safecrlf': 'false',
  'core.fileMode': 'true',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'core.askPass': '',
  'core.sshCommand': 'false',
  'credential.helper': '',
  // The header with the token must not follow a redirect to another host.
  'http.followRedirects': 'false',
  'http.lowSpeedLimit': '1',
  'http.lowSpeedTime': '60',
  'protocol.allow': 'never',
  'protocol.https.allow': 'always',
  'protocol.http.allow': 'always',
  'protocol.ext.allow': 'never',
  'protocol.file.allow': 'never',
  'submodule.recurse': 'false',
  'fetch.recurseSubmodules': 'false',
  'push.recurseSubmodules': 'no',
  'push.gpgSign': 'false',
  'commit.gpgSign': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  // Keeps what is fetched in a pack, whose size can be watched while it grows.
  'fetch.unpackLimit': '1',
  'transfer.unpackLimit': '1',
  // Larger files are streamed, and count as binary in a diff: a diff of two files of 16 MB takes up to 1.4 GB.
  'core.bigFileThreshold': '16m',
  'pack.threads': '2',
  'pack.windowMemory': '64m',
  'diff.suppressBlankEmpty': 'false',
  'diff.renameLimit': '2000',
}

/**
 * The environment of a git process. Configuration goes by the environment and not by arguments, because any user of the
 * machine may read another's arguments.
 */
export const gitEnvironment = (config: Record<string, string> = {}, more: Record<string, string> = {}): Record<string, string> => {
  const passed = PASSED_ON.flatMap((name): [string, string][] => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
  const entries = Object.entries({ ...HARDENED, ...config })
  return {
    PATH: ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    ...Object.fromEntries(passed),
    HOME: '/nonexistent',
    XDG_CONFIG_HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_PAGER: 'cat',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_LITERAL_PATHSPECS: '1',
    // No single piece of memory larger than this: an object, or a list of branches, that unfolds without end.
    GIT_ALLOC_LIMIT: '256m',
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
    ...more,
  }
}
