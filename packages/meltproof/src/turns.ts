/**
 * A gate for what is told when its turn has come: the runs of a limiter, outbound calls. It keeps those that wait, so that
 * all of them can be started, or be turned away.
 */
import type { Decision, GateTuning } from './admission/gate.ts'
import { Permit } from './admission/in-service/permit.ts'
import type { Admitted } from './admission/in-service/permits.ts'
import type { Limiter } from './admission/limiter/limiter.ts'
import type { ShedReason } from './admission/shed-reason.ts'
import { now } from './clock.ts'
import { FailOpen } from './fail-open.ts'
import { LinkedList } from './linked-list.ts'
import { limiterOf, ProcessGate } from './process-gate.ts'

/** What is told when its turn has come. */
export abstract class Turn<E> extends Permit<E> {
  constructor() {
    super(now())
  }

  /** When nobody waits for its result any more, ms. */
  abstract readonly answerBy: number
  /** It has waited, and starts now. */
  abstract begin(): void
  /** It has waited, and is shed. */
  abstract refuse(reason: ShedReason): void
}

export interface TurnsParts {
  /** How much may be in service at once; undefined: learned. */
  readonly limit: number | undefined
  /** Another limiter in the place of the one that learns. */
  readonly instead?: (learned: Limiter) => Limiter
  /** Whether it is work of this process: then its event loop limits it. */
  readonly isOurs: boolean
  readonly tuning: GateTuning
  /** Whether the levels of entries count (admission/queue/criticality.ts). */
  readonly levels: boolean
  /** It failed, and limits nothing any more. Called once. */
  readonly onFailure: (error: unknown) => void
}

export class Turns<E extends Turn<E> & Admitted<E>> {
  readonly gate: ProcessGate<E>
  readonly #waiting = new LinkedList<E>()

  constructor({ limit, instead, isOurs, tuning, levels, onFailure }: TurnsParts) {
    const limiter = limiterOf(limit, { limitsByLoop: isOurs })
    const failOpen = new FailOpen({
      stepAside: () => this.gate.stop(),
      startWaiting: () =>
        this.#empty(entry => {
          this.gate.abandon(entry)
          entry.begin()
        }),
      onFailure,
    })
    this.gate = new ProcessGate<E>({
      limiter: instead?.(limiter) ?? limiter,
      tuning,
      failOpen,
      level: levels ? entry => entry.level! : undefined,
      answerBy: entry => entry.answerBy,
      start: entry => {
        // In one list at a time.
        this.#waiting.delete(entry)
        failOpen.guard(() => this.gate.permit(entry, now()))
        entry.begin()
      },
      shed: (entry, reason) => {
        this.#waiting.delete(entry)
        entry.refuse(reason)
      },
    })
  }

  /** `wait`: the entry is told later. A reason: it is shed now. */
  ask(entry: E): Decision {
    const { gate } = this
    if (gate.failOpen.isOpen) return 'start'
    gate.load.offered(entry.arrivedAt)
    try {
      const decision = gate.ask(entry, entry.arrivedAt)
      if (decision === 'wait') {
        gate.load.waited()
        this.#waiting.add(entry)
      }
      return decision
    } catch (error) {
      gate.failOpen.fail(error)
      return 'start'
    }
  }

  /** One that waits goes. */
  leave(entry: E): void {
    this.#waiting.delete(entry)
    this.gate.abandon(entry)
  }

  /** What was started is over. `answered`: its time says something about the limit. */
  end(entry: E, answered: boolean): void {
    const { failOpen, permits } = this.gate
    try {
      if (answered && !entry.abandoned) permits.record(entry, now())
      else permits.drop(entry, now())
    } catch (error) {
      failOpen.fail(error)
    }
  }

  /** Nobody waits for what was started; it goes on. */
  giveUp(entry: E): void {
    const { failOpen, permits } = this.gate
    if (entry.inService) failOpen.guard(() => permits.giveUp(entry, now()))
  }

  /** The same for all that started before. */
  giveUpBefore(atMs: number, which: (entry: E) => boolean): void {
    const { failOpen, permits } = this.gate
    failOpen.guard(() => permits.giveUpBefore(atMs, now(), which))
  }

  /** Turns away all that wait. */
  turnAway(refuse: (entry: E) => void): void {
    this.#empty(entry => {
      this.gate.abandon(entry)
      refuse(entry)
    })
  }

  /** Sheds all that wait, and all that come later. */
  close(): void {
    const { failOpen } = this.gate
    if (!failOpen.isOpen) failOpen.guard(() => this.gate.inner.close())
  }

  #empty(each: (entry: E) => void): void {
    for (let [entry] = this.#waiting; entry !== undefined; [entry] = this.#waiting) {
      this.#waiting.delete(entry)
      each(entry)
    }
  }
}
