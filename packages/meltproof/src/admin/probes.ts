/**
 * With MELTPROOF=off, the pages of the admin port that probes of Kubernetes and balancers ask for, and nothing else:
 * otherwise turning meltproof off would make a healthy service look dead.
 */
import { type Address, holdPort } from '../cluster/held-port.ts'
import { pageServer, send } from './page-server.ts'

const TEXT = 'meltproof is off (MELTPROOF=off): this port serves only /live, /startup and /ready.\n'

const PAGES = ['/live', '/startup', '/ready']

/** @param isListening whether a server of the app listens now */
export function serveProbes(address: Address, isListening: () => boolean, warn: (text: string) => void): void {
  const server = pageServer(({ url }, response) => {
    const page = url!.split('?')[0]!
    const isWell = page === '/live' || isListening()
    const status = PAGES.includes(page) ? (isWell ? 200 : 503) : 404
    send(response, 'text/plain', TEXT, status)
  })
  // If another worker of the cluster has the port, that one answers, for itself.
  holdPort(server, address, (why, isTaken) => {
    if (!isTaken) warn(`has no admin port. ${why}`)
  })
  server.unref()
}
