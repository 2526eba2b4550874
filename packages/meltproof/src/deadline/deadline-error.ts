import { MeltproofError } from '../errors.ts'

const BRAND = Symbol.for('meltproof.deadline-exceeded')

const WAITED_FOR = {
  refused: 'nothing',
  work: 'it to finish',
  handler: 'the handler to answer',
  connect: 'a connection',
  'first-byte': 'the first byte of the answer',
  idle: 'the next byte of the answer',
  drip: 'an answer that arrived too slowly',
  total: 'the whole answer',
  acquire: 'a free connection of the pool',
  query: 'the result of the query',
  command: 'the answer to the command',
} as const

export type DeadlinePhase = keyof typeof WAITED_FOR

export interface DeadlineFacts extends Pick<DeadlineExceededError, 'phase' | 'waitedMs' | 'ownStallMs' | 'limitMs'> {
  /** How much of `ownStallMs` can have delayed the work, ms. @default ownStallMs */
  readonly heldUpMs?: number
  readonly bytesSeen?: number
  /** Names the work, such as a call to an origin, without secrets. @default 'the work' */
  readonly what?: string | undefined
}

/** A deadline has passed. `instanceof` works across duplicate installs of meltproof. */
export class DeadlineExceededError extends MeltproofError {
  override readonly name: string = 'DeadlineExceededError'
  declare readonly code: 'MELTPROOF_DEADLINE_EXCEEDED'
  /** Wall time from the start until the deadline was enforced, ms. */
  readonly waitedMs: number
  /** How much of `waitedMs` the event loop of this process was stalled, ms. */
  readonly ownStallMs: number
  /** The limit that was exceeded, ms. */
  readonly limitMs: number
  readonly phase: DeadlinePhase
  /** Bytes of an answer that had arrived; undefined if unknown. */
  readonly bytesSeen: number | undefined

  constructor(facts: DeadlineFacts, options?: ErrorOptions) {
    super('MELTPROOF_DEADLINE_EXCEEDED', describe(facts), options)
    this.waitedMs = facts.waitedMs
    this.ownStallMs = facts.ownStallMs
    this.limitMs = facts.limitMs
    this.phase = facts.phase
    this.bytesSeen = facts.bytesSeen
    Object.defineProperty(this, BRAND, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value
  }
}

function describe(facts: DeadlineFacts): string {
  const { phase, limitMs, waitedMs, bytesSeen, what = 'the work' } = facts
  if (phase === 'refused') {
    return `Deadline: ${what} was not started, because only ${ms(Math.max(0, limitMs))} of its time were left.`
  }
  const seen = bytesSeen === undefined ? '' : ` (${bytesSeen} bytes had arrived)`
  return `Deadline: ${what} took more than ${ms(limitMs)}. Waited ${ms(waitedMs)} for ${WAITED_FOR[phase]}${seen}. ${blame(facts)}`
}

const WORTH_TELLING_MS = 1

function blame({ limitMs, waitedMs, ownStallMs, heldUpMs = ownStallMs }: DeadlineFacts): string {
  if (ownStallMs < WORTH_TELLING_MS) {
    return 'This process was not stalled meanwhile: the other side, or the network, was slow.'
  }
  const stalled = `The event loop of this process was stalled for ${ms(ownStallMs)} of that`
  if (heldUpMs < WORTH_TELLING_MS)
    return `${stalled}, but it had nothing to do then except to wait for the other side: the stall is not the cause.`
  const awakeMs = waitedMs - heldUpMs
  return awakeMs >= limitMs - WORTH_TELLING_MS
    ? `${stalled}. The limit was extended by that time: the stall is not the cause.`
    : `${stalled}, which left ${ms(awakeMs)}: the stall is at least part of the cause.`
}

function ms(value: number): string {
  return `${Math.round(value)} ms`
}
