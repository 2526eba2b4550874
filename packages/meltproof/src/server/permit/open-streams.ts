/** The begun answers of a server: what they do at each look, and those that rest without their permit. */
import { type Look, type Stream, Streams } from '../../admission/in-service/streams.ts'
import { LinkedList } from '../../linked-list.ts'
import type { Exchange } from '../request/exchange.ts'
import { announced, isFinished, Looks } from './streaming-responses.ts'

/** So many resting streams are looked at each time, in turn: thousands of slow downloads cost no more. */
const LOOKED_AT = 50

export class OpenStreams {
  /** Those that may be at work again. */
  readonly resting: LinkedList<Exchange> = new LinkedList<Exchange>()
  readonly #streams = new Streams()

  givesBack(exchange: Exchange, nowMs: number, permits: number): 'again' | 'for good' | undefined {
    exchange.stream ??= this.#begun(exchange, nowMs)
    const { stream } = exchange
    if (stream.habit !== 'feed') stream.look(nowMs)
    return this.#streams.givesBack(stream, permits)
  }

  #begun({ kindNoted, request, response }: Exchange, nowMs: number): Stream {
    let looks: Looks | undefined
    const look = (): Look => {
      looks ??= new Looks(request, response!)
      return looks.look()
    }
    return this.#streams.begun(kindNoted, announced(response!), look, nowMs)
  }

  /** It sends events as they come, and needs no permit for that. */
  isFeed({ kindNoted, response, stream }: Exchange): boolean {
    if (stream !== undefined) return stream.habit === 'feed'
    return response?.headersSent === true && this.#streams.habitOf(kindNoted, announced(response)) === 'feed'
  }

  rest(exchange: Exchange): void {
    exchange.stream!.rests()
    this.resting.add(exchange)
  }

  goOn(exchange: Exchange): void {
    this.resting.delete(exchange)
    exchange.stream!.goesOn()
  }

  /** Those that need their permit again. */
  atWorkAgain(nowMs: number): Exchange[] {
    this.#streams.believe(nowMs)
    const found: Exchange[] = []
    let left = LOOKED_AT
    for (const exchange of this.resting) {
      const stream = exchange.stream!
      if (left-- === 0 || stream.lookedAt === nowMs) break
      stream.look(nowMs)
      this.resting.delete(exchange)
      this.resting.add(exchange)
      if (stream.worksAgain) found.push(exchange)
    }
    return found
  }

  ended({ response, stream }: Exchange): void {
    if (stream !== undefined && isFinished(response!)) this.#streams.ended(stream)
  }

  get doubted(): number {
    return this.#streams.doubted
  }

  /** Returns whether it may be at work without a permit. */
  gone({ stream }: Exchange): boolean {
    return stream !== undefined && this.#streams.gone(stream)
  }
}
