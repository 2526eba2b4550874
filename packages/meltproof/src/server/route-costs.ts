/**
 * How long the requests of each named route keep a permit, of late: what a full server is full of. Pure, bounded.
 */

export interface RouteCost {
  readonly route: string
  /** Mean time in service, ms. */
  readonly meanMs: number
  /** Share of the time that all named routes spent in service. */
  readonly share: number
}

/** Routes with figures of their own; later ones are counted together. */
const MOST_ROUTES = 100
const OTHERS = 'other routes'
/** After so many requests the older half fades, so that the figures follow the traffic. */
const REMEMBERED = 2000

export class RouteCosts {
  readonly #routes = new Map<string, { count: number; spentMs: number }>()
  #counted = 0

  /** A request of this route was answered after `serviceMs` in service. */
  spent(route: string, serviceMs: number): void {
    const name = this.#routes.has(route) || this.#routes.size < MOST_ROUTES ? route : OTHERS
    const cost = this.#routes.get(name)
    if (cost === undefined) this.#routes.set(name, { count: 1, spentMs: serviceMs })
    else {
      cost.count++
      cost.spentMs += serviceMs
    }
    if (++this.#counted >= REMEMBERED) this.#fade()
  }

  /** The routes on which most time was spent, at most `most` of them. */
  dearest(most: number): RouteCost[] {
    const all = [...this.#routes].sort(([, a], [, b]) => b.spentMs - a.spentMs)
    const totalMs = all.reduce((sum, [, { spentMs }]) => sum + spentMs, 0)
    return all.slice(0, most).map(([route, { count, spentMs }]) => ({
      route,
      meanMs: spentMs / count,
      share: spentMs / Math.max(totalMs, 1e-9),
    }))
  }

  #fade(): void {
    this.#counted = 0
    for (const [route, cost] of this.#routes) {
      cost.count /= 2
      cost.spentMs /= 2
      // A route nobody asks for any more gives its place to another.
      if (cost.count < 0.1) this.#routes.delete(route)
      else this.#counted += cost.count
    }
  }
}
