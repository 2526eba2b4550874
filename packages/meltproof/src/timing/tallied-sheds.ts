/**
 * Publishes the requests whose handler never ran. Far above capacity these are most of a server's work, so only the
 * first 20 of each second are published with their request, and all others as counts by reason, method and wait.
 */
import type { IncomingMessage } from 'node:http'
import { clearTimeout, setTimeout } from 'node:timers'
import { sheds } from '../channels.ts'
import { now } from '../clock.ts'
import { bucketOf, DURATION_BOUNDARIES_S, LEFT, methodIndex, METHODS } from '../record.ts'
import type { ShedRecords, Source } from '../server/response/observer.ts'

/** Maximum published one by one, per second. Each makes Node create a request, which doubles the cost of a shed. */
const MAX_SINGLE_PER_S = 20
/** The counts of the others are published at this interval, ms. */
const EVERY_MS = 1000

interface Tally {
  readonly reason: string
  readonly method: string
  count: number
  waitedMs: number
}

export class TalliedSheds implements ShedRecords {
  readonly #source: Source
  readonly #tallies = new Map<string, (Tally | undefined)[]>()
  #secondFromMs = Number.NEGATIVE_INFINITY
  #publishedSingly = 0
  #timer: NodeJS.Timeout | undefined

  constructor(source: Source) {
    this.#source = source
  }

  wantsRequest(nowMs: number): boolean {
    if (!sheds.hasSubscribers) return false
    if (nowMs - this.#secondFromMs >= EVERY_MS) {
      this.#secondFromMs = nowMs
      this.#publishedSingly = 0
    }
    return this.#publishedSingly < MAX_SINGLE_PER_S
  }

  note(reason: string | undefined, request: IncomingMessage, waitedMs: number, bytes: number, nowMs: number): void {
    const { method = '' } = request
    if (!this.wantsRequest(nowMs)) {
      this.add(reason, method, waitedMs)
      return
    }
    this.#publishedSingly++
    const record = {
      atMs: nowMs,
      reason: reason ?? LEFT,
      method: METHODS[methodIndex(method)]!,
      waitedMs,
      bytes,
      count: 1,
    }
    sheds.publish({ record, ...this.#source, request })
  }

  add(reason: string = LEFT, name: string, waitedMs: number): void {
    if (!sheds.hasSubscribers) return
    const method = methodIndex(name)
    let ofReason = this.#tallies.get(reason)
    if (ofReason === undefined) {
      ofReason = []
      this.#tallies.set(reason, ofReason)
    }
    const index = method * (DURATION_BOUNDARIES_S.length + 1) + bucketOf(waitedMs / 1000, DURATION_BOUNDARIES_S)
    ofReason[index] ??= { reason, method: METHODS[method]!, count: 0, waitedMs: 0 }
    const tally = ofReason[index]
    tally.count++
    tally.waitedMs += waitedMs
    this.#timer ??= setTimeout(this.publishRest, EVERY_MS).unref()
  }

  readonly publishRest = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const tallies = [...this.#tallies.values()].flatMap(ofReason => Object.values(ofReason))
    this.#tallies.clear()
    const atMs = now()
    for (const tally of tallies as Tally[]) {
      const { reason, method, waitedMs, count } = tally
      const record = { atMs, reason, method, waitedMs: waitedMs / count, bytes: 0, count }
      sheds.publish({ record, ...this.#source, request: undefined })
    }
  }
}
