/**
 * While memory is full, request bodies are read one after another: first the oldest, then twice as many after each
 * check at which memory has not grown. The others wait in the socket buffers of their clients.
 */
import type { BodySource } from '../../signals/memory.ts'
import type { Connection } from './connection.ts'

export type Readable = Pick<Connection, 'isMidBody' | 'pauseReading' | 'resumeReading'>

export class PacedBodies implements BodySource {
  readonly #connections: Iterable<Readable>
  readonly #sources: Set<BodySource>
  readonly #paused = new Set<Readable>()
  #open = 0
  #isStopped = false
  #next = 1

  /** @param sources the set in which signals/memory.ts finds this object while a connection is open */
  constructor(connections: Iterable<Readable>, sources: Set<BodySource>) {
    this.#connections = connections
    this.#sources = sources
  }

  began(): void {
    if (this.#open++ === 0 && !this.#isStopped) this.#sources.add(this)
  }

  ended(connection: Readable): void {
    this.#paused.delete(connection)
    if (--this.#open === 0) this.#sources.delete(this)
  }

  /** From now on bodies are read as they arrive. */
  stop(): void {
    this.#isStopped = true
    this.#sources.delete(this)
    this.onRoom()
  }

  onFull(grows: boolean): void {
    if (grows) {
      this.#next = 1
      for (const connection of this.#connections) if (connection.isMidBody) this.#pause(connection)
    }
    this.#resume(this.#next)
    if (!grows) this.#next *= 2
  }

  onRoom(): void {
    this.#next = 1
    this.#resume(this.#paused.size)
  }

  #pause(connection: Readable): void {
    connection.pauseReading('memory')
    this.#paused.add(connection)
  }

  #resume(most: number): void {
    let left = most
    for (const connection of this.#paused) {
      if (left-- <= 0) return
      this.#paused.delete(connection)
      connection.resumeReading('memory')
    }
  }
}
