/** The installed streams of a process, shared by every copy of meltproof, which must not patch them twice. */
export const INSTALLED: unique symbol = Symbol.for('meltproof.stdout') as never

export function isInstalled(): boolean {
  return INSTALLED in process
}
