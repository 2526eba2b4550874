/**
 * Requests that differ: each has a number, and its sender, its turn and the time are written into it. The marks are as
 * long as what replaces them, so the length of a request never changes. Pure but for Buffer.
 */
import { Buffer } from 'node:buffer'

/** Nine digits: the sender of a request, from 0. */
export const SENDER = '@SENDER@@'
/** Nine digits: how many requests this sender has made before. */
export const TURN = '@@@TURN@@'
/** Thirteen digits: milliseconds since 1970 when it is sent. */
export const NOW = '@@@@@NOW@@@@@'
/** Nine letters: another word for each request, as far apart as if they were random. */
export const WORD = '@@@WORD@@'

export class NumberedRequest {
  readonly #template: Buffer
  readonly #senders: number
  readonly #places: { readonly mark: string; readonly offset: number }[]

  constructor(template: Uint8Array, senders: number) {
    this.#template = Buffer.from(template)
    this.#senders = senders
    this.#places = [SENDER, TURN, NOW, WORD].flatMap(mark =>
      offsetsOf(this.#template, mark).map(offset => ({ mark, offset })),
    )
  }

  /** Request `number` comes from sender `number mod senders`, so that all of them send in turn. */
  bytes(number: number, nowMs: number): Uint8Array {
    const bytes = Buffer.from(this.#template)
    for (const { mark, offset } of this.#places) {
      if (mark === WORD) {
        writeWord(bytes, offset, mark.length, number)
        continue
      }
      const value = mark === NOW ? nowMs : mark === SENDER ? number % this.#senders : Math.floor(number / this.#senders)
      writeDigits(bytes, offset, mark.length, value)
    }
    return bytes
  }
}

function offsetsOf(bytes: Buffer, mark: string): number[] {
  const offsets: number[] = []
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) offsets.push(at)
  return offsets
}

function writeDigits(bytes: Buffer, offset: number, count: number, value: number): void {
  let left = value
  for (let at = offset + count - 1; at >= offset; at--) {
    bytes[at] = 48 + (left % 10)
    left = Math.floor(left / 10)
  }
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
/** Coprime to the number of letters, so that no two numbers share a word; about the golden ratio of all there are. */
const SPREAD = 3_355_617_900_001n

function writeWord(bytes: Buffer, offset: number, length: number, number: number): void {
  let left = (BigInt(number) * SPREAD) % BigInt(LETTERS.length) ** BigInt(length)
  for (let at = offset; at < offset + length; at++) {
    bytes[at] = LETTERS.charCodeAt(Number(left % 26n))
    left /= 26n
  }
}
