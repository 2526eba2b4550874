/**
 * When the handler of a request has ended: framework adapters see its promise and tell, the permit's owner listens. Kept
 * on the request under a symbol that every installed copy of meltproof shares.
 */
const HANDLER_END = Symbol.for('meltproof.handlerEnd')

type Told = { [HANDLER_END]?: 'ended' | (() => void) }

/** The handler of this request (the one of node:http) has ended, whatever became of its answer. */
export function handlerEnded(request: object): void {
  const told = request as Told
  const listener = told[HANDLER_END]
  told[HANDLER_END] = 'ended'
  if (typeof listener === 'function') listener()
}

/** Calls `listener` when the handler ends, if an adapter tells; true when it has ended already. */
export function onHandlerEnd(request: object, listener: () => void): boolean {
  const told = request as Told
  if (told[HANDLER_END] === 'ended') return true
  told[HANDLER_END] = listener
  return false
}
