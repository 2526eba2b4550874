/** The limiters of this process that have a name: what metrics read. */

type Figure = 'inflight' | 'queued' | 'limit' | 'pressure' | 'admitted'

export type LimiterFigures = Readonly<Record<Figure, number>> & { readonly shed: Readonly<Record<string, number>> }

/** Each is a label value in several metrics. */
const MOST = 100

const named = new Map<string, () => LimiterFigures>()

/** Later ones than the first 100 are left out. Returns what takes it out again. */
export function nameLimiter(name: string, figures: () => LimiterFigures): () => void {
  if (!named.has(name) && named.size >= MOST) return () => undefined
  named.set(name, figures)
  return () => {
    if (named.get(name) === figures) named.delete(name)
  }
}

export function namedLimiters(): ReadonlyMap<string, () => LimiterFigures> {
  return named
}
