/** Chooses the server with the fewest requests, like HAProxy's leastconn. Ties are broken round robin. */
import type { Balancer, Server } from './balancer.ts'

export class LeastConnections implements Balancer {
  #servers: readonly Server[] = []
  #next = 0

  rotation(servers: readonly Server[]): void {
    this.#servers = servers
  }

  choose(avoid?: Server): Server | undefined {
    const { length } = this.#servers
    let best: Server | undefined
    let at = this.#next
    for (let i = 0; i < length; i++) {
      const index = (this.#next + i) % length
      const server = this.#servers[index]!
      if (server === avoid || server.open >= server.maxconn || (best !== undefined && server.open >= best.open))
        continue
      best = server
      at = index
      if (server.open === 0) break
    }
    this.#next = at + 1
    return best ?? (avoid !== undefined && avoid.open < avoid.maxconn ? avoid : undefined)
  }
}
