/** The main thread's side of the watcher: what it saw of its own stack, until a stall is judged. */
import { now, threadsClockMs } from '../clock.ts'
import { type Judgement, judge, type Sample } from './place.ts'
import { runningRequest } from './running-request.ts'
import { ASKED_AT, type SharedWords, TOKEN } from './shared-words.ts'
import { stackBelow } from './stack.ts'

/** A look that comes later after the watcher's question than this met native code, and sees only what followed it, ms. */
const PROMPT_MS = 5
/** Of the longest stalls the watcher takes ten a second. */
const MOST = 1000

export class Samples {
  readonly #shared: SharedWords
  /** By {@link now}. */
  readonly #samples: Sample[] = []
  /** The question that is answered. */
  #answered = 0
  /** The monotonic clock of the system, less that of the process. */
  readonly #offsetMs: number = threadsClockMs() - now()

  constructor(shared: SharedWords) {
    this.#shared = shared
  }

  /** Called by the watcher, in the middle of whatever runs. Returns the innermost frame, in words. */
  look(above: (...args: never[]) => unknown): string {
    const { words } = this.#shared
    // A call of ours has answered it.
    if (this.#answered === words[TOKEN]) return this.#innermost()
    this.#answered = words[TOKEN]!
    const atMs = now()
    const askedAtMs = this.#askedAtMs
    if (atMs - askedAtMs > PROMPT_MS) {
      this.#add({ fromMs: askedAtMs, toMs: atMs, frames: undefined, cause: undefined, request: undefined })
      return 'unknown'
    }
    this.#add({ fromMs: atMs, toMs: atMs, ...stackBelow(above), request: runningRequest() })
    return this.#innermost()
  }

  /** A native call has returned that was under way when the watcher asked. */
  caught(what: string, above: (...args: never[]) => unknown): void {
    const { words } = this.#shared
    const isAnswered = this.#answered === words[TOKEN]
    if (isAnswered && this.#samples.at(-1)?.frames !== undefined) return
    // The look came as soon as the call had returned. It is known now what it was too late for.
    if (isAnswered) this.#samples.pop()
    this.#answered = words[TOKEN]!
    const request = runningRequest()
    this.#add({ fromMs: this.#askedAtMs, toMs: now(), ...stackBelow(above), cause: what, request })
  }

  judge(fromMs: number, toMs: number): Judgement {
    const touching = this.#samples.filter(sample => sample.toMs >= fromMs && sample.fromMs <= toMs)
    return judge(touching, fromMs, toMs)
  }

  forget(untilMs: number): void {
    while (this.#samples.length > 0 && this.#samples[0]!.toMs <= untilMs) this.#samples.shift()
  }

  get #askedAtMs(): number {
    return this.#shared.times[ASKED_AT]! - this.#offsetMs
  }

  #add(sample: Sample): void {
    if (this.#samples.length < MOST) this.#samples.push(sample)
  }

  #innermost(): string {
    const frame = this.#samples.at(-1)?.frames?.at(-1)
    return frame === undefined ? 'unknown' : `${frame.name} ${frame.file}:${frame.line}`.trim()
  }
}
