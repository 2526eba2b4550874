/** How many of those in service came within the last so many milliseconds. Pure. */

const SLOTS = 32

export class Recent {
  readonly #slotMs: number
  readonly #came = new Int32Array(SLOTS)
  #slot = 0
  count = 0

  constructor(forMs: number) {
    this.#slotMs = forMs / (SLOTS - 1)
  }

  advance(nowMs: number): void {
    const slot = Math.floor(nowMs / this.#slotMs)
    for (let past = Math.max(this.#slot + 1, slot - SLOTS + 1); past <= slot; past++) {
      this.count -= this.#came[past % SLOTS]!
      this.#came[past % SLOTS] = 0
    }
    this.#slot = Math.max(this.#slot, slot)
  }

  add(): void {
    this.#came[this.#slot % SLOTS]!++
    this.count++
  }

  remove(startedAt: number): void {
    const slot = Math.floor(startedAt / this.#slotMs)
    if (slot <= this.#slot - SLOTS) return
    this.#came[slot % SLOTS]!--
    this.count--
  }
}
