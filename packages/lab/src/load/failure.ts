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

/** `connected` is true if the connection was open when the error occurred. */
export const failureOf = (code: string | undefined, connected: boolean): FailureCode => {
  if (code === 'ETIMEDOUT') return connected ? 'reset' : 'connect-timeout'
  return (code !== undefined ? CODES[code] : undefined) ?? 'other'
}

/** Errors caused by the machine that generates the load, not by the server, in words. */
const LOCAL: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'this machine ran out of local ports: use fewer new connections, or keep-alive',
  EMFILE: 'this process ran out of file descriptors: raise ulimit -n, or use fewer connections',
  ENFILE: 'this machine ran out of file descriptors',
  ENOBUFS: 'this machine ran out of socket buffers',
  ENOMEM: 'this machine ran out of memory',
}

export const explain = ({ code = '', message, reason }: NodeJS.ErrnoException & { reason?: string }): string => {
  const local = LOCAL[code]
  if (local !== undefined) return `${code}, ${local}`
  // OpenSSL's message also contains its own source file and line.
  return code.startsWith('ERR_SSL') ? (reason ?? message) : message
}
