/** The installed streams of a process. All copies of meltproof share them, so that none is patched twice. */
export const INSTALLED: unique symbol = Symbol.for('meltproof.stdout') as never

/** Marks meltproof's own listeners of signals, which are not the app's. Every installed copy uses the same symbol. */
export const OWN_LISTENER: unique symbol = Symbol.for('meltproof.listener') as never

export function isInstalled(): boolean {
  return INSTALLED in process
}
