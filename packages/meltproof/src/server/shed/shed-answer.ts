/**
 * The answer a shed request gets, serialised once. Everything here is decided before the overload starts, so that in
 * it a shed costs one write of a ready string.
 *
 * 503 with an integer, jittered `Retry-After` (RFC 9110 section 10.2.3; the jitter keeps clients that obey from
 * returning as one wave), problem details as JSON (RFC 9457), or a small page when the client prefers HTML.
 */

/** What the operator may replace in the answer. */
export interface ShedAnswerOptions {
  /** Least and most seconds of `Retry-After`; whole numbers. Default 1 to 5. */
  readonly retryAfterS: readonly [least: number, most: number]
  /** Body for clients that do not ask for HTML, with its content type. Default: RFC 9457 problem JSON. */
  readonly body: { readonly type: string; readonly text: string }
  /** Page for clients that prefer HTML. */
  readonly page: string
}

export const PROBLEM_JSON: string = JSON.stringify({
  type: 'about:blank',
  title: 'Service Unavailable',
  status: 503,
  detail: 'This server is at its capacity and did not start on the request. Retry after the time given in Retry-After.',
})

export const HTML_PAGE: string = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Busy right now</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem;color:#222}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}</style>
</head><body><h1>Busy right now</h1><p>More people are here than we can serve at this moment. Your request was not started, so nothing is lost: please try again in a few seconds.</p></body></html>
`

/** Which of the ready answers a request gets. */
export interface AnswerChoice {
  readonly html: boolean
  /** HEAD is answered with the head alone. */
  readonly head: boolean
  readonly keepAlive: boolean
}

/** How many `Retry-After` values are prepared at most; a wider range is sampled evenly. */
const MOST_VARIANTS = 16

export class ShedAnswers {
  /** `Retry-After` seconds of each variant. */
  readonly seconds: readonly number[]
  readonly #ready: readonly (readonly string[])[]
  readonly #options: ShedAnswerOptions
  /** Of the body, and of the page. */
  readonly #bodyBytes: readonly [number, number]
  #date = ''
  #keepAliveMs = 0
  /** Messages that carry that date and keep-alive time, by kind and variant. */
  #dated: string[] = []

  constructor(options: ShedAnswerOptions) {
    this.#options = options
    this.#bodyBytes = [Buffer.byteLength(options.body.text), Buffer.byteLength(options.page)]
    const [least, most] = options.retryAfterS
    const count = Math.min(most - least + 1, MOST_VARIANTS)
    this.seconds = Array.from({ length: count }, (_, i) =>
      count === 1 ? least : Math.round(least + (i * (most - least)) / (count - 1)),
    )
    this.#ready = ALL_CHOICES.map(choice => this.seconds.map(s => serialise(options, choice, s)))
  }

  /**
   * A whole HTTP/1.1 message as latin-1 text, with one of the `Retry-After` values at random. `date` is the value of
   * the Date header, which changes once a second; `keepAliveMs` how long an idle connection is kept, 0 for ever.
   */
  message(choice: AnswerChoice, date: string, keepAliveMs: number): string {
    if (date !== this.#date || keepAliveMs !== this.#keepAliveMs) {
      this.#date = date
      this.#keepAliveMs = keepAliveMs
      this.#dated = []
    }
    const kind = (choice.html ? 4 : 0) + (choice.head ? 2 : 0) + (choice.keepAlive ? 1 : 0)
    const variant = this.#anyVariant()
    const index = kind * this.seconds.length + variant
    const known = this.#dated[index]
    if (known !== undefined) return known
    // Node gives the same hint with its own answers; clients need it to not reuse a connection as it closes.
    const hint = choice.keepAlive && keepAliveMs > 0 ? `\r\nkeep-alive: timeout=${Math.floor(keepAliveMs / 1000)}` : ''
    const message = this.#ready[kind]![variant]!.replace('\0', date + hint)
    this.#dated[index] = message
    return message
  }

  /** Bytes of the body of such an answer. */
  bodyBytes({ html, head }: Pick<AnswerChoice, 'html' | 'head'>): number {
    return head ? 0 : this.#bodyBytes[html ? 1 : 0]
  }

  /** Head and body for writing through a ServerResponse, where a ready message can not be used. */
  parts(html: boolean): { readonly headers: Record<string, string>; readonly body: string } {
    const { type, text } = bodyOf(this.#options, html)
    return {
      headers: {
        'content-type': type,
        'content-length': String(this.bodyBytes({ html, head: false })),
        'retry-after': String(this.seconds[this.#anyVariant()]),
        'cache-control': 'no-store',
      },
      body: text,
    }
  }

  #anyVariant(): number {
    return Math.floor(Math.random() * this.seconds.length)
  }
}

const ALL_CHOICES: readonly AnswerChoice[] = [0, 1, 2, 3, 4, 5, 6, 7].map(kind => ({
  html: (kind & 4) !== 0,
  head: (kind & 2) !== 0,
  keepAlive: (kind & 1) !== 0,
}))

function bodyOf(options: ShedAnswerOptions, html: boolean): { type: string; text: string } {
  return html ? { type: 'text/html; charset=utf-8', text: options.page } : options.body
}

/** The message with a NUL where the date goes, and what follows it. Non-ASCII bodies become the latin-1 image of their UTF-8 bytes. */
function serialise(options: ShedAnswerOptions, choice: AnswerChoice, retryAfterS: number): string {
  const { type, text } = bodyOf(options, choice.html)
  const bytes = Buffer.from(text, 'utf8')
  const head =
    `HTTP/1.1 503 Service Unavailable\r\ncontent-type: ${type}\r\ncontent-length: ${bytes.length}\r\n` +
    `retry-after: ${retryAfterS}\r\ncache-control: no-store\r\ndate: \0\r\n` +
    `connection: ${choice.keepAlive ? 'keep-alive' : 'close'}\r\n\r\n`
  return choice.head ? head : head + bytes.toString('latin1')
}
