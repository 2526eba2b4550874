/** A gate for work other than requests: runs of a limiter, outbound calls. It can start or shed all waiting work. */
import type { Decision, GateTuning } from './admission/gate.ts'
import { Permit } from './admission/in-service/permit.ts'
import type { Admitted } from './admission/in-service/permits.ts'
import type { Limiter } from './admission/limiter/limiter.ts'
import type { ShedReason } from './admission/sheds.ts'
import { now } from './clock.ts'
import { FailOpen } from './fail-open.ts'
import { LinkedList } from './linked-list.ts'
import { limiterOf, ProcessGate } from './process-gate.ts'

/** One piece of work. The gate calls its methods. */
export abstract class GatedWork<E> extends Permit<E> {
  constructor() {
    super(now())
  }

  /** When the caller stops waiting for the result, ms. */
  abstract readonly answerBy: number
  /** Called when work that has waited may start. */
  abstract begin(): void
  /** Called when work that has waited is shed. */
  abstract refuse(reason: ShedReason): void
}

export interface WorkGateParts {
  /** Maximum concurrent work; undefined if it is to be learned. */
  readonly limit: number | undefined
  /** Wraps the learned limiter in another limiter. */
  readonly wrapLimiter?: (learned: Limiter) => Limiter
  /** True for work in this process, which the event loop limits; false for outbound calls. */
  readonly isOurs: boolean
  readonly tuning: GateTuning
  /** True if entries have a criticality level (admission/queue/criticality.ts). */
  readonly levels: boolean
  /** Called once, if the gate fails. From then on it limits nothing. */
  readonly onFailure: (error: unknown) => void
}

export class WorkGate<E extends GatedWork<E> & Admitted<E>> {
  readonly processGate: ProcessGate<E>
  readonly #waiting = new LinkedList<E>()

  constructor({ limit, wrapLimiter, isOurs, tuning, levels, onFailure }: WorkGateParts) {
    const limiter = limiterOf(limit, { limitsByLoop: isOurs })
    const failOpen = new FailOpen({
      stepAside: () => this.processGate.stop(),
      startWaiting: () => this.turnAway(entry => entry.begin()),
      onFailure,
    })
    this.processGate = new ProcessGate<E>({
      limiter: wrapLimiter?.(limiter) ?? limiter,
      tuning,
      failOpen,
      level: levels ? entry => entry.level! : undefined,
      answerBy: entry => entry.answerBy,
      start: entry => {
        // An entry can be in only one list, and the permit adds it to the list of work in service.
        this.#waiting.delete(entry)
        failOpen.guard(() => this.processGate.permit(entry, now()))
        entry.begin()
      },
      shed: (entry, reason) => {
        this.#waiting.delete(entry)
        entry.refuse(reason)
      },
    })
  }

  /** Returns `start`, `wait` (a method of the entry is called later), or the reason why the caller must shed it. */
  ask(entry: E): Decision {
    const { processGate } = this
    if (processGate.failOpen.isOpen) return 'start'
    processGate.load.offered(entry.arrivedAt)
    try {
      const decision = processGate.ask(entry, entry.arrivedAt)
      if (decision === 'wait') {
        processGate.load.waited()
        this.#waiting.add(entry)
      }
      return decision
    } catch (error) {
      processGate.failOpen.fail(error)
      return 'start'
    }
  }

  leave(entry: E): void {
    this.#waiting.delete(entry)
    this.processGate.withdraw(entry)
  }

  /** Ends started work. @param answered whether its duration says something about the limit */
  end(entry: E, answered: boolean): void {
    const { failOpen, permits } = this.processGate
    failOpen.guard(() => {
      if (answered && !entry.abandoned) permits.answered(entry, now())
      else permits.drop(entry, now())
    })
  }

  /** Called when the caller no longer waits for started work, which continues. */
  giveUp(entry: E): void {
    const { failOpen, permits } = this.processGate
    if (entry.inService) failOpen.guard(() => permits.giveUp(entry, now()))
  }

  /** Like {@link giveUp}, for all work that started before `atMs` and for which `which` returns true. */
  giveUpBefore(atMs: number, which: (entry: E) => boolean): void {
    const { failOpen, permits } = this.processGate
    failOpen.guard(() => permits.giveUpBefore(atMs, now(), which))
  }

  /** Removes all waiting work from the gate, and passes each entry to `each`. */
  turnAway(each: (entry: E) => void): void {
    for (let [entry] = this.#waiting; entry !== undefined; [entry] = this.#waiting) {
      this.leave(entry)
      each(entry)
    }
  }

  /** Sheds all waiting work, and all work that arrives later. */
  close(): void {
    const { failOpen } = this.processGate
    if (!failOpen.isOpen) failOpen.guard(() => this.processGate.admission.close())
  }
}
