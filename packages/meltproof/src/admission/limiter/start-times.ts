/** Counts the requests in service by start time, in slots of 40 ms over the last 16 seconds. Pure. */

const SLOT_MS = 40
const SLOTS = 400

export class StartTimes {
  inService = 0
  nowMs = 0
  readonly #started = new Int32Array(SLOTS)
  #slot = 0
  #slotEndsAt = 0
  #windowSlots = 0
  /** Length of the window of {@link recent}, ms: a request counts for this long. */
  windowMs = 0
  /** Requests in service that started within the window. */
  recent = 0

  constructor(windowMs: number) {
    this.setWindow(windowMs)
  }

  /** Windows longer than about 16 seconds are shortened. */
  setWindow(ms: number): void {
    this.#windowSlots = slotsOf(ms)
    this.windowMs = this.#windowSlots * SLOT_MS
    this.recent = this.#sum(this.#slot - this.#windowSlots)
  }

  advance(nowMs: number): void {
    this.nowMs = nowMs
    if (nowMs < this.#slotEndsAt) return
    const slot = Math.floor(nowMs / SLOT_MS)
    if (slot - this.#slot >= SLOTS) {
      this.#started.fill(0)
      this.recent = 0
      this.#slot = slot
    }
    while (this.#slot < slot) {
      this.#slot++
      this.#started[this.#slot % SLOTS] = 0
      this.recent -= this.#started[(this.#slot + SLOTS - this.#windowSlots - 1) % SLOTS]!
    }
    this.#slotEndsAt = (slot + 1) * SLOT_MS
  }

  add(): void {
    this.inService++
    this.#started[this.#slot % SLOTS]!++
    this.recent++
  }

  remove(startedAt: number): void {
    this.inService--
    const slot = Math.floor(startedAt / SLOT_MS)
    if (slot <= this.#slot - SLOTS) return
    this.#started[slot % SLOTS]!--
    if (slot >= this.#slot - this.#windowSlots) this.recent--
  }

  /** The earliest time from `atMs` on for which {@link since} is exact. */
  boundary(atMs: number): number {
    return Math.ceil(atMs / SLOT_MS) * SLOT_MS
  }

  /** Requests in service that started since `atMs`, at most sixteen seconds ago. */
  since(atMs: number): number {
    return this.#sum(Math.ceil(atMs / SLOT_MS))
  }

  #sum(fromSlot: number): number {
    let sum = 0
    for (let slot = Math.max(0, fromSlot, this.#slot - SLOTS + 1); slot <= this.#slot; slot++)
      sum += this.#started[slot % SLOTS]!
    return sum
  }
}

function slotsOf(ms: number): number {
  return Math.min(SLOTS - 2, Math.ceil(ms / SLOT_MS))
}
