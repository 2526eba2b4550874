/**
 * A Node event loop on a virtual clock: timers, then one poll batch, then immediates. Work takes virtual CPU time. As
 * in libuv, events that become ready during a batch wait for the next one.
 */
import { type Core, wholeCore } from './core.ts'
import { EventHeap } from './event-heap.ts'

/** libuv asks epoll for at most this many events at a time. */
const POLL_BATCH = 1024

type Task = () => void

export class Loop {
  nowMs = 0
  /** Cumulative time spent running tasks, ms, as `eventLoopUtilization().active` counts it: stolen time included. */
  busyMs = 0
  /** Cumulative CPU time of tasks, ms. */
  cpuMs = 0
  /** Turns so far. */
  turns = 0
  readonly #core: Core
  readonly #timers = new EventHeap<Task>()
  readonly #external = new EventHeap<Task>()
  readonly #kernel = new EventHeap<Task>()
  #immediates: Task[] = []
  #ticks: Task[] = []

  constructor(core: Core = wholeCore) {
    this.#core = core
  }

  setTimer(ms: number, task: Task): void {
    this.#timers.push(this.nowMs + ms, task)
  }

  setImmediate(task: Task): void {
    this.#immediates.push(task)
  }

  /** Runs a task after the current callback, like `process.nextTick` and promises. */
  nextTick(task: Task): void {
    this.#ticks.push(task)
  }

  /** Something outside (a socket, a dependency) becomes ready at a time. The loop handles it in its next poll. */
  readyAt(atMs: number, task: Task): void {
    this.#external.push(atMs, task)
  }

  /** Something happens in the kernel at a time, whether or not the process is busy. The process notices it later. */
  kernelAt(atMs: number, task: Task): void {
    this.#kernel.push(atMs, task)
  }

  /** Uses `ms` of CPU. */
  burn(ms: number): void {
    const wall = this.#core(this.nowMs, ms)
    this.nowMs += wall
    this.busyMs += wall
    this.cpuMs += ms
  }

  /** When the next task is due; Infinity when none is left. */
  get nextAt(): number {
    if (this.#immediates.length > 0) return this.nowMs
    return Math.max(this.nowMs, Math.min(this.#timers.nextAt, this.#external.nextAt, this.#kernel.nextAt))
  }

  /** Runs until a time, or until no task is left. */
  run(untilMs: number): void {
    while (this.nowMs < untilMs && this.turn());
  }

  /** Runs one turn, once a task is due. Returns false when none is left. */
  turn(): boolean {
    this.turns++
    while (this.#timers.nextAt <= this.nowMs) this.#call(this.#timers.pop()!)
    if (this.#immediates.length === 0) {
      const next = this.nextAt
      if (next === Number.POSITIVE_INFINITY) return false
      this.nowMs = next
    }
    const polledAt = this.nowMs
    while (this.#kernel.nextAt <= polledAt) this.#kernel.pop()!()
    for (let i = 0; i < POLL_BATCH && this.#external.nextAt <= polledAt; i++) this.#call(this.#external.pop()!)
    const immediates = this.#immediates
    this.#immediates = []
    for (const task of immediates) this.#call(task)
    return true
  }

  #call(task: Task): void {
    task()
    if (this.#ticks.length === 0) return
    for (const tick of this.#ticks) tick()
    this.#ticks.length = 0
  }
}
