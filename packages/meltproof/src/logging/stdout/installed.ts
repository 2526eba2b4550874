/** Where a process has its installed streams, shared by every copy of meltproof: two must not stand behind each other. */
export const INSTALLED: unique symbol = Symbol.for('meltproof.stdout') as never

export function isInstalled(): boolean {
  return INSTALLED in process
}
