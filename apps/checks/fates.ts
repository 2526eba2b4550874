/** Describes the requests that were neither served nor shed. Pure. */
import type { Load } from '../load/load-maker.ts'

export const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ')

export const failedOf = ({ failed, scheduled }: Load): string[] =>
  total(failed) > 0 ? [`${total(failed)} of ${scheduled} requests had no answer: ${listed(failed)}`] : []

export const otherOf = ({ other, scheduled }: Load): string[] =>
  total(other) > 0 ? [`${total(other)} of ${scheduled} requests were answered ${listed(other)}`] : []

/** Requests that were sent to a listening server and not answered. */
export const lostOf = ({ failed }: Load): number => total(failed) - (failed['refused'] ?? 0)

/** True when `count` exceeds `usual` by three standard deviations of two counts, and by more than 5. */
export const beyondChance = (count: number, usual: number): boolean =>
  count - usual > Math.max(5, 3 * Math.sqrt(count + usual))

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
