/** Cuts text that comes in pieces into lines; of a line without end no more is kept than can be a number. Pure. */
export class BoundedLines {
  readonly #onLine: (line: string) => void
  readonly #longest: number
  #rest = ''

  /** Of a longer line `longest` + 1 characters are handed on, so that it can be seen to be too long. */
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

  /** A last line may lack its end. */
  end(): void {
    if (this.#rest !== '') this.#onLine(this.#rest)
    this.#rest = ''
  }

  #keep(part: string): void {
    const room = this.#longest + 1 - this.#rest.length
    if (room > 0) this.#rest += part.slice(0, room)
  }
}
