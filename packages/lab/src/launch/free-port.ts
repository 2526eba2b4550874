/** Finds a port for a command that listens on PORT. */
import { readFileSync } from 'node:fs'
import net from 'node:net'

export type Ports = readonly [first: number, last: number]

/** Many well-known services use ports below this. */
const FIRST = 10_000
/** Assumed ephemeral range if the system does not report one: most ranges begin here or later. */
const USUAL: Ports = [32_768, 65_535]

/** Avoids the ephemeral range if possible: the system may assign a port of it before the command listens there. */
export async function freePort(): Promise<number> {
  const choice = portsLeft(givenOut())
  for (let tries = 0; choice !== undefined && tries < 100; tries++) {
    const [first, last] = choice
    const port = await bound(first + Math.floor(Math.random() * (last - first + 1)))
    if (port !== undefined) return port
  }
  return (await bound(0))!
}

/** Returns more than 1000 ports below or above the ephemeral range, or undefined if neither side has that many. */
export function portsLeft([first, last]: Ports): Ports | undefined {
  const sides: readonly Ports[] = [
    [FIRST, first - 1],
    [Math.max(last + 1, FIRST), 65_535],
  ]
  return sides.find(([from, to]) => to - from >= 1000)
}

function givenOut(): Ports {
  try {
    const [first, last] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/).map(Number)
    return [first!, last!]
  } catch {
    return USUAL
  }
}

/** The port (0 for any) if it is free on all addresses. */
function bound(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', error => {
      if (port === 0) reject(error)
      else resolve(undefined)
    })
    server.listen(port, () => {
      const address = server.address() as net.AddressInfo
      server.close(() => resolve(address.port))
    })
  })
}
