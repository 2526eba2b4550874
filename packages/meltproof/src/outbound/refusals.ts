/**
 * Tracks which calls an origin refuses, and decides which further calls may start. Each route has its own throttle,
 * because a quota may apply to one route; other refusals lower the limit of the whole origin (refusal-limit.ts). Pure.
 */
import { RefusalLimit } from './refusal-limit.ts'
import { Throttle } from './throttle.ts'

/** Maximum number of routes with their own throttle; further ones share one. */
const MOST_ROUTES = 32
const OTHERS = ''
/**
 * The refusals concern only this route if another route, with at least MIN_RESULTS results, is refused less than half
 * as often, and its share of refusals is lower by more than MIN_DIFFERENCE.
 */
const MIN_RESULTS = 20
const HALF_AS_OFTEN = 0.5
const MIN_DIFFERENCE = 0.1

export class Refusals {
  readonly #limit = new RefusalLimit()
  readonly #throttles = new Map<string, Throttle>()

  /** Maximum calls in flight. Infinity while refusals set no limit. */
  get limit(): number {
    return this.#limit.limit
  }

  /** True if meltproof refuses a new call. `random` is from 0 to 1. */
  refuses(route: string, nowMs: number, random: number): boolean {
    return this.#throttles.get(this.#keyOf(route))?.refuses(nowMs, random) === true
  }

  served(route: string, nowMs: number): void {
    this.#throttleOf(route, nowMs).served(nowMs)
  }

  refused(route: string, nowMs: number): void {
    this.#throttleOf(route, nowMs).refused(nowMs)
  }

  /**
   * Counts a call that had a permit and has ended. The limit depends on these calls.
   * @param inFlight calls in flight, including this one, when it started
   */
  ended(route: string, refused: boolean, startedAt: number, inFlight: number, nowMs: number): void {
    if (!refused || !this.#isOfRoute(route, nowMs)) this.#limit.ended(refused, startedAt, inFlight, nowMs)
  }

  /** True if the origin refuses this route but serves another one. */
  #isOfRoute(route: string, nowMs: number): boolean {
    const own = this.#throttles.get(this.#keyOf(route))
    const share = own?.refusedShare(nowMs) ?? 0
    for (const other of this.#throttles.values()) {
      if (other === own || other.decided(nowMs) < MIN_RESULTS) continue
      if (other.refusedShare(nowMs) < Math.min(HALF_AS_OFTEN * share, share - MIN_DIFFERENCE)) return true
    }
    return false
  }

  #keyOf(route: string): string {
    return this.#throttles.has(route) ? route : OTHERS
  }

  #throttleOf(route: string, nowMs: number): Throttle {
    const key = this.#throttles.has(route) || this.#hasRoom(nowMs) ? route : OTHERS
    const throttle = this.#throttles.get(key) ?? new Throttle()
    this.#throttles.set(key, throttle)
    return throttle
  }

  #hasRoom(nowMs: number): boolean {
    if (this.#throttles.size < MOST_ROUTES) return true
    for (const [route, throttle] of this.#throttles) {
      if (throttle.decided(nowMs) > 0) continue
      this.#throttles.delete(route)
      return true
    }
    return false
  }
}
