/** The main thread's side of the watcher: stores samples of its own stack until a stall is judged. */
import { now, threadsClockMs } from '../clock.ts'
import { type Judgement, judge, type Sample } from './place.ts'
import { runningRequest } from './running-request.ts'
import { ASKED_AT, type SharedWords, TOKEN } from './shared-words.ts'
import { stackBelow } from './stack.ts'

/** Maximum number of samples. In the longest stalls the watcher takes ten per second. */
const MOST = 1000

/** `token` is the value of TOKEN when the watcher asked for the sample. */
type Taken = Sample & { readonly token: number }

export class Samples {
  readonly #shared: SharedWords
  /** Times are those of {@link now}. */
  readonly #samples: Taken[] = []
  /** The clock that all threads share, minus the clock of {@link now}. */
  readonly #offsetMs: number = threadsClockMs() - now()

  constructor(shared: SharedWords) {
    this.#shared = shared
  }

  /** Called by the watcher, in the middle of running code. Returns a description of the innermost frame. */
  look(above: (...args: never[]) => unknown): string {
    const token = this.#shared.words[TOKEN]!
    // If the tokens are equal, a watched native call has already added the sample that the watcher asked for.
    if (this.#samples.at(-1)?.token !== token) {
      const atMs = now()
      this.#add({ token, askedAtMs: this.#askedAtMs, fromMs: atMs, toMs: atMs, ...stackBelow(above) })
    }
    const frame = this.#samples.at(-1)?.frames.at(-1)
    return frame === undefined ? 'unknown' : `${frame.name} ${frame.file}:${frame.line}`.trim()
  }

  /** Called after a native call during which the watcher asked for a sample. `before`: the token before the call. */
  caught(what: string, before: number, above: (...args: never[]) => unknown): void {
    let askedAtMs = this.#askedAtMs
    // The call certainly ran all this time, so its sample replaces those that were taken during or right after it.
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
