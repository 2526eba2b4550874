/** The main thread's side of the watcher: what it saw of its own stack, until a stall is judged. */
import { now, threadsClockMs } from '../clock.ts'
import { type Judgement, judge, type Sample } from './place.ts'
import { runningRequest } from './running-request.ts'
import { ASKED_AT, type SharedWords, TOKEN } from './shared-words.ts'
import { stackBelow } from './stack.ts'

/** Of the longest stalls the watcher takes ten a second. */
const MOST = 1000

/** `token`: the question that it answers. */
type Taken = Sample & { readonly token: number }

export class Samples {
  readonly #shared: SharedWords
  /** By {@link now}. */
  readonly #samples: Taken[] = []
  /** The monotonic clock of the system, less that of the process. */
  readonly #offsetMs: number = threadsClockMs() - now()

  constructor(shared: SharedWords) {
    this.#shared = shared
  }

  /** Called by the watcher, in the middle of whatever runs. Returns the innermost frame, in words. */
  look(above: (...args: never[]) => unknown): string {
    const token = this.#shared.words[TOKEN]!
    // Otherwise a call of ours has answered it.
    if (this.#samples.at(-1)?.token !== token) {
      const atMs = now()
      this.#add({ token, askedAtMs: this.#askedAtMs, fromMs: atMs, toMs: atMs, ...stackBelow(above) })
    }
    const frame = this.#samples.at(-1)?.frames.at(-1)
    return frame === undefined ? 'unknown' : `${frame.name} ${frame.file}:${frame.line}`.trim()
  }

  /** A native call has returned, during which the watcher asked after the question `before`. */
  caught(what: string, before: number, above: (...args: never[]) => unknown): void {
    let askedAtMs = this.#askedAtMs
    // Looks that came within the call, or as soon as it had returned, know less than that it was under way.
    while ((this.#samples.at(-1)?.token ?? before) > before) askedAtMs = this.#samples.pop()!.askedAtMs
    const token = this.#shared.words[TOKEN]!
    this.#add({ token, askedAtMs, fromMs: askedAtMs, toMs: now(), ...stackBelow(above), cause: what })
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

  #add(sample: Omit<Taken, 'request'>): void {
    if (this.#samples.length < MOST) this.#samples.push({ ...sample, request: runningRequest() })
  }
}
