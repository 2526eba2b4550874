/** The installed streams of a process. All copies of meltproof share them, so that none is patched twice. */
export const INSTALLED: unique symbol = Symbol.for('meltproof.stdout') as never

export function isInstalled(): boolean {
  return INSTALLED in process
}
