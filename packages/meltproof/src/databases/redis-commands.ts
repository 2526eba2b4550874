/** What the name of a Redis command says about it. Pure. */

/** What ioredis sends by itself to a connection that it has just made; failing one would break the connection. */
const HANDSHAKE = new Set(['auth', 'hello', 'info', 'select', 'client', 'readonly'])
const BLOCKING = new Set('blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop wait waitaof'.split(' '))
const LISTENING = new Set(['subscribe', 'psubscribe', 'ssubscribe', 'monitor'])
const MAY_BLOCK = new Set(['xread', 'xreadgroup'])

export function isHandshake(name: string): boolean {
  return HANDSHAKE.has(name)
}

/** From its answer on, the connection is there for messages. */
export function listens(name: string): boolean {
  return LISTENING.has(name)
}

/** It waits on purpose, or turns the connection to another use: a budget bounds it, and nothing else. */
export function waitsOnPurpose(name: string, args: readonly unknown[]): boolean {
  if (BLOCKING.has(name) || LISTENING.has(name)) return true
  return MAY_BLOCK.has(name) && args.some(arg => typeof arg === 'string' && arg.toLowerCase() === 'block')
}

/** Until which commands a connection is in the midst of something that others on it would run into. */
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
