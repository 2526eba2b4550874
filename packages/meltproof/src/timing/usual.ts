/**
 * The usual duration of calls: the median of the last ones without a stall. Each call is stored under its route, under
 * the first segment of its route, and under its peer; the narrowest of these with enough values is used. Clients that
 * invent paths can displace routes, but not peers. Pure and bounded.
 */

/** Maximum names at each level: peers, first segments, routes. 1.5 MiB in total. */
const MOST = [256, 512, 1024] as const
const WINDOW = 31
/** With fewer values a median is worth less than that of the next wider level. */
const MIN_VALUES = 3

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

  /** The median of the values from `lowMs` to `highMs`, or of all if none is; undefined for an unknown peer. */
  of(peer: string, route?: string, lowMs = 0, highMs: number = Number.POSITIVE_INFINITY): number | undefined {
    const known = namesOf(peer, route).flatMap((name, width) => this.#widths[width]!.get(name) ?? [])
    return (known.findLast(({ count }) => count >= MIN_VALUES) ?? known[0])?.median(lowMs, highMs)
  }
}

/** The names of a route at each level, the widest first. */
function namesOf(peer: string, route: string | undefined): readonly string[] {
  if (route === undefined) return [peer]
  const slash = route.indexOf('/', 1)
  return [peer, `${peer} ${slash < 0 ? route : route.slice(0, slash)}`, `${peer} ${route}`]
}
