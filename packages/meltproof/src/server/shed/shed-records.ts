/**
 * Tells who observes of the requests whose handler never ran. Far above capacity they are most of what a server does: so
 * the first of each second are told with their request, and of the others how many there were, by reason, method and wait.
 */
import type { IncomingMessage } from 'node:http'
import { sheds } from '../../channels.ts'
import { now } from '../../clock.ts'
import { bucketOf, DURATION_BOUNDARIES_S, methodIndex, METHODS } from '../../record.ts'
import type { Source } from '../response/observer.ts'

/** Told one by one, a second. Each has Node make a request, which doubles the cost of a shed. */
const SINGLY = 20
/** The others are told this often, ms. */
const EVERY_MS = 1000

interface Tally {
  readonly reason: string
  readonly method: string
  count: number
  waitedMs: number
}

export class ShedRecords {
  readonly #source: Source
  readonly #tallies = new Map<string, (Tally | undefined)[]>()
  #secondFromMs = Number.NEGATIVE_INFINITY
  #toldSingly = 0
  #timer: NodeJS.Timeout | undefined

  constructor(source: Source) {
    this.#source = source
  }

  /** Whether one that comes now is told with its request. */
  wantsRequest(nowMs: number): boolean {
    if (!sheds.hasSubscribers) return false
    if (nowMs - this.#secondFromMs >= EVERY_MS) {
      this.#secondFromMs = nowMs
      this.#toldSingly = 0
    }
    return this.#toldSingly < SINGLY
  }

  note(reason: string, request: IncomingMessage, waitedMs: number, bytes: number, nowMs: number): void {
    if (!sheds.hasSubscribers) return
    const method = methodIndex(request.method ?? '')
    if (!this.wantsRequest(nowMs)) {
      this.add(reason, method, waitedMs)
      return
    }
    this.#toldSingly++
    const record = { atMs: nowMs, reason, method: METHODS[method]!, waitedMs, bytes, count: 1 }
    sheds.publish({ record, ...this.#source, request })
  }

  /** @param method its index in METHODS */
  add(reason: string, method: number, waitedMs: number): void {
    if (!sheds.hasSubscribers) return
    const ofReason = this.#tallies.get(reason) ?? this.#begin(reason)
    const index = method * (DURATION_BOUNDARIES_S.length + 1) + bucketOf(waitedMs / 1000, DURATION_BOUNDARIES_S)
    ofReason[index] ??= { reason, method: METHODS[method]!, count: 0, waitedMs: 0 }
    const tally = ofReason[index]
    tally.count++
    tally.waitedMs += waitedMs
    this.#timer ??= setTimeout(this.tellRest, EVERY_MS).unref()
  }

  #begin(reason: string): (Tally | undefined)[] {
    const ofReason: (Tally | undefined)[] = []
    this.#tallies.set(reason, ofReason)
    return ofReason
  }

  readonly tellRest = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const told = [...this.#tallies.values()].flatMap(ofReason => Object.values(ofReason))
    this.#tallies.clear()
    const atMs = now()
    for (const { reason, method, count, waitedMs } of told as Tally[]) {
      const record = { atMs, reason, method, waitedMs: waitedMs / count, bytes: 0, count }
      sheds.publish({ record, ...this.#source, request: undefined })
    }
  }
}
