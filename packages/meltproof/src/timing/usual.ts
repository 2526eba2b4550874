/**
 * What calls usually take: the median of the last ones that no stall of ours touched. Each call is noted for its route,
 * for all routes that begin like it, and for its peer; the narrowest that is known well enough answers. A client that names
 * paths can push out routes, but not peers. Pure and bounded.
 */

/** Most names of each width: peers, first segments, routes. 1.5 MiB in all. */
const MOST = [256, 512, 1024] as const
const WINDOW = 31
/** A median of fewer says less than that of the next wider. */
const ENOUGH = 3

class Recent {
  readonly #values = new Float64Array(WINDOW)
  count = 0

  add(ms: number): void {
    this.#values[this.count++ % WINDOW] = ms
  }

  median(lowMs: number, highMs: number): number {
    const sorted = this.#values.slice(0, Math.min(this.count, WINDOW)).sort()
    const possible = sorted.filter(ms => ms >= lowMs && ms <= highMs)
    const list = possible.length > 0 ? possible : sorted
    return list[list.length >> 1]!
  }
}

export class UsualTimes {
  readonly #widths = MOST.map(() => new Map<string, Recent>())

  note(peer: string, route: string | undefined, ms: number): void {
    for (const [width, name] of namesOf(peer, route).entries()) {
      const names = this.#widths[width]!
      const recent = names.get(name) ?? new Recent()
      recent.add(ms)
      names.delete(name)
      names.set(name, recent)
      if (names.size > MOST[width]!) names.delete(names.keys().next().value!)
    }
  }

  /** Of those that took from `lowMs` to `highMs`, if there are any; undefined when nothing is known of the peer. */
  of(peer: string, route?: string, lowMs = 0, highMs: number = Number.POSITIVE_INFINITY): number | undefined {
    let known: Recent | undefined
    for (const [width, name] of namesOf(peer, route).entries()) {
      const recent = this.#widths[width]!.get(name)
      if (recent !== undefined && (known === undefined || recent.count >= ENOUGH)) known = recent
    }
    return known?.median(lowMs, highMs)
  }
}

/** The widest first. */
function namesOf(peer: string, route: string | undefined): readonly string[] {
  if (route === undefined) return [peer]
  const slash = route.indexOf('/', 1)
  return [peer, `${peer} ${slash < 0 ? route : route.slice(0, slash)}`, `${peer} ${route}`]
}
