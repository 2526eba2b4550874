/** Round robin like HAProxy's: a full server is skipped. */
import type { Balancer, Server } from './balancer.ts'

export class RoundRobin implements Balancer {
  #servers: readonly Server[] = []
  #next = 0

  rotation(servers: readonly Server[]): void {
    this.#servers = servers
  }

  choose(avoid?: Server): Server | undefined {
    const servers = this.#servers
    let otherwise: Server | undefined
    for (let i = 0; i < servers.length; i++) {
      const server = servers[this.#next++ % servers.length]!
      if (server.open >= server.maxconn) continue
      if (server !== avoid) return server
      otherwise = server
    }
    return otherwise
  }
}
