/** Classifies Redis commands by name. Pure. */

/** Commands that ioredis sends itself on a new connection; failing one would break the connection. */
const HANDSHAKE = new Set(['auth', 'hello', 'info', 'select', 'client', 'readonly'])
const BLOCKING = new Set('blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop wait waitaof'.split(' '))
const LISTENING = new Set(['subscribe', 'psubscribe', 'ssubscribe', 'monitor'])
const MAY_BLOCK = new Set(['xread', 'xreadgroup'])

export function isHandshake(name: string): boolean {
  return HANDSHAKE.has(name)
}

/** True for commands after whose answer the connection only receives messages. */
export function listens(name: string): boolean {
  return LISTENING.has(name)
}

/** True for a command that waits on purpose, or changes the use of the connection: only a budget limits it. */
export function waitsOnPurpose(name: string, args: readonly unknown[]): boolean {
  if (BLOCKING.has(name) || LISTENING.has(name)) return true
  return MAY_BLOCK.has(name) && args.some(arg => typeof arg === 'string' && arg.toLowerCase() === 'block')
}

/** For each command that affects later ones on its connection: the commands that end its effect. */
const ENDED_BY: Readonly<Record<string, readonly string[]>> = {
  multi: ['exec', 'discard', 'reset', 'quit'],
  watch: ['exec', 'discard', 'unwatch', 'reset', 'quit'],
}

export function beginsState(name: string): boolean {
  return name in ENDED_BY
}

export function endsState(begun: string, name: string): boolean {
  return ENDED_BY[begun]?.includes(name) === true
}
