/** Classifies Redis commands by name. Pure. */

/** Commands that ioredis sends itself on a new connection; failing one would break the connection. */
export const HANDSHAKE: ReadonlySet<string> = new Set(['auth', 'hello', 'info', 'select', 'client', 'readonly'])
/** After their answer the connection only receives messages. */
export const LISTENING: ReadonlySet<string> = new Set(['subscribe', 'psubscribe', 'ssubscribe', 'monitor'])
const BLOCKING = new Set('blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop wait waitaof'.split(' '))
const MAY_BLOCK = new Set(['xread', 'xreadgroup'])

/** True for a command that waits on purpose, or changes the use of the connection: only a budget limits it. */
export function waitsOnPurpose(name: string, args: readonly unknown[]): boolean {
  if (BLOCKING.has(name) || LISTENING.has(name)) return true
  return MAY_BLOCK.has(name) && args.some(arg => typeof arg === 'string' && arg.toLowerCase() === 'block')
}
