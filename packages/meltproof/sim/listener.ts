/**
 * Listening sockets. New connections wait in the kernel, and each socket accepts one of them per turn of the loop
 * (libuv since 1.45). If the backlog is full, the connection is dropped and retried as in TCP.
 */
import type { Loop } from './loop.ts'

/** Node's default backlog. */
const BACKLOG = 511
/** The first retransmission of a SYN, ms. The delay doubles each time. */
const SYN_AGAIN_MS = 1000

export class Listener {
  readonly #loop: Loop
  readonly #acceptCostMs: number
  readonly #lanes: { backlog: (() => void)[]; polled: boolean }[]
  #next = 0

  constructor(loop: Loop, lanes: number, acceptCostMs: number) {
    this.#loop = loop
    this.#acceptCostMs = acceptCostMs
    this.#lanes = Array.from({ length: lanes }, () => ({ backlog: [], polled: false }))
  }

  /** Connects a client. `accepted` runs in the turn after its connection was accepted. */
  connect(atMs: number, accepted: () => void, againMs: number = SYN_AGAIN_MS): void {
    this.#loop.kernelAt(atMs, () => {
      const lane = this.#lanes[this.#next++ % this.#lanes.length]!
      if (lane.backlog.length >= BACKLOG) {
        this.connect(atMs + againMs, accepted, againMs * 2)
        return
      }
      lane.backlog.push(accepted)
      if (!lane.polled) this.#poll(lane, atMs)
    })
  }

  #poll(lane: { backlog: (() => void)[]; polled: boolean }, atMs: number): void {
    lane.polled = true
    this.#loop.readyAt(atMs, () => {
      lane.polled = false
      const accepted = lane.backlog.shift()
      if (accepted === undefined) return
      this.#loop.burn(this.#acceptCostMs)
      this.#loop.readyAt(this.#loop.nowMs, accepted)
      if (lane.backlog.length > 0) this.#poll(lane, this.#loop.nowMs)
    })
  }
}
