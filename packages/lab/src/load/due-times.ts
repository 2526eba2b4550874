/** A priority queue of times, earliest first: a binary heap of numbers. Pure. */
export class DueTimes {
  readonly #times: number[] = []

  get first(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY
  }

  add(time: number): void {
    const times = this.#times
    let at = times.length
    times.push(time)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (times[parent]! <= time) break
      times[at] = times[parent]!
      at = parent
    }
    times[at] = time
  }

  removeFirst(): void {
    const times = this.#times
    const last = times.pop()
    if (last === undefined || times.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= times.length) break
      if (child + 1 < times.length && times[child + 1]! < times[child]!) child++
      if (times[child]! >= last) break
      times[at] = times[child]!
      at = child
    }
    times[at] = last
  }
}
