/** Maps the error codes of sockets to the failure codes of the lab. Pure. */
import type { FailureCode } from './plan.ts'

const CODES: Readonly<Record<string, FailureCode>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETDOWN: 'unreachable',
}

/** `connected`: whether the connection stood when the error came. */
export const failureOf = (code: string | undefined, connected: boolean): FailureCode => {
  if (code === 'ETIMEDOUT') return connected ? 'reset' : 'connect-timeout'
  return (code !== undefined ? CODES[code] : undefined) ?? 'other'
}

/** Reasons, in words, of errors that come from the machine that generates the load and not from the server. */
const LOCAL: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'this machine ran out of local ports: use fewer new connections, or keep-alive',
  EMFILE: 'this process ran out of file descriptors: raise ulimit -n, or use fewer connections',
  ENFILE: 'this machine ran out of file descriptors',
  ENOBUFS: 'this machine ran out of socket buffers',
  ENOMEM: 'this machine ran out of memory',
}

export const explain = ({ code = '', message, reason }: SocketError): string => {
  const local = LOCAL[code]
  if (local !== undefined) return `${code}, ${local}`
  // The message of OpenSSL also says in which line of which file of its own.
  return code.startsWith('ERR_SSL') ? (reason ?? message) : message
}

interface SocketError extends NodeJS.ErrnoException {
  readonly reason?: string
}
