/** Servers of meltproof's own, such as the admin port: meltproof/register leaves them alone. */
import type { Server } from 'node:net'

/** Every copy of meltproof in the process knows it. */
const OWN: unique symbol = Symbol.for('meltproof.own-server') as never

export function markOwn(server: Server): void {
  Object.defineProperty(server, OWN, { value: true })
}

export function isOwn(server: Server): boolean {
  return OWN in server
}
