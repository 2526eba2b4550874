/** Silences a dependency in trials of `recover`: the app gets the address of a relay instead of the dependency's. */
import type { Context } from '../experiment/scenario.ts'
import { Relay } from '../launch/relay.ts'
import { UserError } from '../user-error.ts'
import type { Dependency } from './dependency.ts'
import type { RecoveryShape } from './measured.ts'

export class Silencer {
  readonly #relay: Relay
  readonly #variable: string
  /** Added to the environment of every app. */
  readonly env: Readonly<Record<string, string>>
  /** True if the app used its dependency between the beginning of the last trial and its silence. */
  wasUsed = false
  #timers: readonly NodeJS.Timeout[] = []

  private constructor(relay: Relay, { variable, valueFor }: Dependency) {
    this.#relay = relay
    this.#variable = variable
    this.env = { [variable]: valueFor(relay.port) }
  }

  static async before(dependency: Dependency, { signal, status, cleanUp }: Context): Promise<Silencer> {
    const { variable, host, port } = dependency
    status(`connecting to ${host}:${port}`)
    const relay = await Relay.open({ host, port }, signal).catch((error: Error & { readonly code?: unknown }) => {
      signal.throwIfAborted()
      const why = typeof error.code === 'string' ? error.code : 'no answer within 5 s'
      throw new UserError(`--dependency ${variable}: nothing accepts connections at ${host}:${port} (${why})`)
    })
    cleanUp(() => relay.close())
    return new Silencer(relay, dependency)
  }

  /** @throws UserError if the app has never connected to the relay */
  checkUsed(): void {
    if (this.#relay.accepted > 0) return
    const { port } = this.#relay
    throw new UserError(
      `the command never connected to 127.0.0.1:${port}; ${this.#variable} in its environment has this address: does it read ${this.#variable}?`,
    )
  }

  /** Begins a trial. The load begins now; after `beforeS` the dependency is silent for `spikeS`. */
  begin({ beforeS, spikeS }: RecoveryShape): void {
    const { passedBytes } = this.#relay
    const hold = (): void => {
      this.wasUsed = this.#relay.passedBytes > passedBytes
      this.#relay.hold()
    }
    this.wasUsed = false
    this.#timers = [
      setTimeout(hold, 1000 * beforeS),
      setTimeout(() => this.#relay.release(), 1000 * (beforeS + spikeS)),
    ]
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#relay.release()
  }
}
