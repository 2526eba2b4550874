/**
 * HAProxy in front of a simulated service: sends as many requests at once as it was told, queues a few, and turns the rest
 * away itself. It asks an agent from time to time, and keeps the last number it got.
 */
import type { Figures } from '../src/haproxy/advice.ts'
import type { Loop } from './loop.ts'

export interface DoorOptions {
  /** What the agent says to figures of the service at a time; undefined: nobody is asked. */
  readonly agent?: (figures: Figures, nowMs: number) => string
  readonly askEveryMs?: number
  /** So many balancers at a time, each of which sends as many as it was told. @default 1 */
  readonly doors?: (nowMs: number) => number
  /** What it was told before, by a process that has ended, or by its operator. @default as many as come */
  readonly maxconn?: number
  /** As `timeout queue`. */
  readonly queueMs?: number
  readonly mostQueued?: number
  /** From the end of a request to its answer at the door, or from the door to the service, ms. */
  readonly hopMs?: number
}

interface Waiting {
  readonly untilMs: number
  readonly send: (nowMs: number) => void
  readonly refuse: () => void
}

export class Door {
  maxconn: number
  refused = 0
  /** What it was told, and when, s. */
  readonly told: [atS: number, maxconn: number][] = []
  readonly #loop: Loop
  readonly #options: Required<Omit<DoorOptions, 'agent' | 'maxconn'>>
  readonly #queue: Waiting[] = []
  #open = 0

  constructor(loop: Loop, { agent, ...options }: DoorOptions, figures: () => Figures) {
    this.#loop = loop
    this.#options = { askEveryMs: 500, doors: () => 1, queueMs: 100, mostQueued: 50, hopMs: 0.3, ...options }
    this.maxconn = options.maxconn ?? Number.POSITIVE_INFINITY
    if (agent === undefined) return
    // The agent is in the process: it answers when the loop has time.
    const ask = (atMs: number): void => {
      loop.readyAt(atMs, () => this.#hear(agent(figures(), loop.nowMs)))
      loop.kernelAt(atMs, () => ask(atMs + this.#options.askEveryMs))
    }
    ask(this.#options.askEveryMs)
  }

  comes(atMs: number, send: (nowMs: number) => void, refuse: () => void): void {
    this.#loop.kernelAt(atMs, () => {
      this.#queue.push({ untilMs: atMs + this.#options.queueMs, send, refuse })
      this.#next(atMs)
      if (this.#queue.length > this.#options.mostQueued) this.#refuse(this.#queue.pop()!)
    })
  }

  /** An answer leaves the service. */
  left(): void {
    const atMs = this.#loop.nowMs + this.#options.hopMs
    this.#loop.kernelAt(atMs, () => {
      this.#open--
      this.#next(atMs)
    })
  }

  #next(nowMs: number): void {
    while (this.#queue.length > 0 && this.#queue[0]!.untilMs < nowMs) this.#refuse(this.#queue.shift()!)
    while (this.#queue.length > 0 && this.#open < this.maxconn * this.#options.doors(nowMs)) {
      this.#open++
      this.#queue.shift()!.send(nowMs + this.#options.hopMs)
    }
  }

  #refuse({ refuse }: Waiting): void {
    this.refused++
    refuse()
  }

  /** What is not said is not changed. */
  #hear(line: string): void {
    const told = / maxconn:(\d+)\n$/.exec(line)?.[1]
    if (told === undefined) return
    this.maxconn = Number(told)
    this.told.push([this.#loop.nowMs / 1000, this.maxconn])
    this.#next(this.#loop.nowMs)
  }
}
