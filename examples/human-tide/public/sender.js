/**
 * Sends the positions in the outbox, oldest first, and removes those that the server has stored or cannot use. After a
 * failure the same positions are sent again. The sender knows no page; the constructor takes all that it needs.
 */

/** Interval between requests while everything arrives, ms. */
const PACE_MS = 1000
/** Interval while positions have piled up, within the server's quota of 4 requests a second, ms. */
const CATCH_UP_MS = 300
const BATCH = 100
/** Wait after a first failure, which doubles with each further one up to the longest, ms. */
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 15_000

/**
 * @typedef {'idle' | 'sending' | 'stored' | 'no-signal' | 'server-busy' | 'refused'} Signal
 * @typedef {object} State
 * @property {Signal} signal
 * @property {number} stored positions acknowledged so far
 * @property {number} unusable positions that the server could not use; this sender does not send them again
 * @property {number} waitMs until the next attempt
 * @property {string} detail the server's message
 * @property {string} code the error code in the server's answer, or '' if the answer has none
 */

export class Sender {
  /** @type {State} */
  state = { signal: 'idle', stored: 0, unusable: 0, waitMs: 0, detail: '', code: '' }
  #failures = 0
  #batch = BATCH
  /** Positions up to this seq that are still in the outbox are not sent until the page is opened again. */
  #passedOver = 0
  /** The server's time minus the phone's, ms. It is set only if the phone's clock is far off. */
  #clockOff = 0
  #running = false
  /** @type {Promise<void>} */
  #ended = Promise.resolve()
  /** @type {(() => void) | undefined} */
  #wake

  /**
   * @param {object} parts
   * @param {Pick<import('./outbox.js').Outbox, 'oldest' | 'remove'>} parts.outbox
   * @param {(report: object) => Promise<Response>} parts.post rejects when there is no signal
   * @param {() => string} parts.name
   * @param {() => number} [parts.now]
   * @param {(state: State) => void} [parts.onState]
   * @param {<T>(attempt: () => Promise<T>) => Promise<T>} [parts.alone] keeps other tabs from using the outbox
   */
  constructor({ outbox, post, name, now = Date.now, onState = () => {}, alone = attempt => attempt() }) {
    this.outbox = outbox
    this.post = post
    this.name = name
    this.now = now
    this.onState = onState
    this.alone = alone
  }

  run() {
    this.#running = true
    this.#ended = this.#untilStopped()
    return this.#ended
  }

  async #untilStopped() {
    while (this.#running) {
      const waitMs = await this.alone(() => this.#step())
      if (this.#running) await this.#sleep(waitMs)
    }
  }

  /** Resolves when the attempt that is under way has ended. */
  stop() {
    this.#running = false
    this.#wake?.()
    return this.#ended
  }

  /** Ends the present wait, for example when there may be a signal again. */
  kick() {
    this.#failures = 0
    this.#wake?.()
  }

  /** Makes one attempt. Returns the wait before the next one, ms. */
  async #step() {
    const kept = await this.outbox.oldest(this.#batch, this.#passedOver)
    if (kept.length === 0) return PACE_MS
    let response
    try {
      response = await this.post(this.#report(kept))
    } catch {
      return this.#failed('no-signal', undefined, {})
    }
    const answer = await response.json().catch(() => ({}))
    if (response.ok && answer.stored + answer.known === kept.length) {
      await this.outbox.remove(kept.map(({ seq }) => seq))
      this.#failures = 0
      this.#batch = BATCH
      this.#tell({ signal: 'stored', stored: this.state.stored + kept.length, waitMs: 0, detail: '', code: '' })
      return kept.length === BATCH ? CATCH_UP_MS : PACE_MS
    }
    return this.#answered(response, answer, kept)
  }

  /** @param {readonly import('./outbox.js').Kept[]} kept */
  #report(kept) {
    return {
      name: this.name(),
      sentAt: this.now() + this.#clockOff,
      positions: kept.map(({ seq, at, lat, lon, accuracy }) => ({ seq, at: at + this.#clockOff, lat, lon, accuracy })),
    }
  }

  /**
   * Handles answers that do not acknowledge all positions.
   * @param {Response} response @param {any} answer @param {readonly import('./outbox.js').Kept[]} kept
   */
  async #answered(response, answer, kept) {
    const { status } = response
    if (status === 400 && answer.code === 'clock-wrong') {
      this.#clockOff = answer.serverTime - this.now()
      return CATCH_UP_MS
    }
    if (status === 400 && answer.invalid?.length > 0) {
      // One bad position must not keep the others from being stored.
      const seqs = answer.invalid.map((/** @type {{ index: number }} */ { index }) => kept[index]?.seq)
      await this.outbox.remove(seqs.filter(Number.isSafeInteger))
      this.#tell({ unusable: this.state.unusable + seqs.length, detail: answer.title })
      return CATCH_UP_MS
    }
    const notStorable = status === 400 && answer.code === 'not-storable'
    if ((status === 413 || notStorable) && kept.length > 1) {
      this.#batch = Math.ceil(kept.length / 2)
      return CATCH_UP_MS
    }
    if (notStorable) {
      // The position stays on the phone, for a server that can store it, but later positions must not wait for it.
      this.#passedOver = kept[0]?.seq ?? 0
      this.#batch = BATCH
      this.#tell({ unusable: this.state.unusable + 1, detail: answer.title })
      return CATCH_UP_MS
    }
    const busy = status === 429 || status >= 500
    return this.#failed(busy ? 'server-busy' : 'refused', response.headers.get('retry-after'), answer)
  }

  /**
   * @param {Signal} signal
   * @param {string | null | undefined} retryAfter
   * @param {{ title?: string, code?: string }} said
   */
  #failed(signal, retryAfter, { title = '', code = '' }) {
    const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++)
    const asked = Number(retryAfter ?? 0) * 1000
    // The wait is randomised, so that phones that lost the server together do not return together.
    const waitMs = Math.round(
      Math.max(Number.isFinite(asked) ? Math.min(asked, 60_000) : 0, most * (0.5 + Math.random() / 2)),
    )
    this.#tell({ signal, waitMs, detail: title, code })
    return waitMs
  }

  /** @param {Partial<State>} change */
  #tell(change) {
    this.state = { ...this.state, ...change }
    this.onState(this.state)
  }

  /** @param {number} ms */
  #sleep(ms) {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve(undefined)
      }
    })
  }
}
