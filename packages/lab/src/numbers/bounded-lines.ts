/** Splits a stream of text into lines. It stores only the beginning of an endless line. Pure. */
export class BoundedLines {
  readonly #onLine: (line: string) => void
  readonly #longest: number
  #rest = ''

  /** A longer line is reported with `longest` + 1 characters, so that it is recognised as too long. */
  constructor(longest: number, onLine: (line: string) => void) {
    this.#longest = longest
    this.#onLine = onLine
  }

  add(text: string): void {
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#keep(text.slice(start, end))
      this.#onLine(this.#rest)
      this.#rest = ''
      start = end + 1
    }
    this.#keep(text.slice(start))
  }

  /** The last line may have no newline. */
  end(): void {
    if (this.#rest !== '') this.#onLine(this.#rest)
    this.#rest = ''
  }

  #keep(part: string): void {
    const room = this.#longest + 1 - this.#rest.length
    if (room > 0) this.#rest += part.slice(0, room)
  }
}
