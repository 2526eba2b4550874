/**
 * Journeys are arrivals that each send several requests in sequence, each due a think time after the previous answer.
 * scheduled = completed + failed (by step) + not started + cut (still in progress when the run was stopped). Pure.
 */
import { AnswerParts } from './answer-parts.ts'
import { type ArrivalSource, type JourneyRun, type RequestEnd, shareOf, sourceOf } from './arrival-source.ts'
import { DueTimes } from './due-times.ts'
import { Histogram, type HistogramData } from './histogram.ts'
import type { JourneyOutcome, JourneyStep, LoadPlan } from './plan.ts'

export type JourneyData = Omit<JourneyOutcome, 'duration'> & { readonly duration: HistogramData }

export class Journeys implements ArrivalSource {
  readonly durationMs: number
  readonly #steps: readonly JourneyStep[]
  readonly #starts: ArrivalSource
  readonly #atOnce: number
  readonly #workers: number
  #number: number
  /** When later requests are due, and their journeys. */
  readonly #later = new DueTimes()
  readonly #runs = new Map<number, JourneyRun[]>()
  #open = 0
  #scheduled = 0
  #completed = 0
  #notStarted = 0
  readonly #failedAt: number[]
  readonly #missing: Record<string, number> = {}
  readonly #duration = new Histogram()

  constructor({ arrival, journey }: Required<Pick<LoadPlan, 'arrival' | 'journey'>>, worker: number, workers: number) {
    this.#steps = journey.steps
    this.#starts = sourceOf(arrival, worker, workers)
    this.durationMs = this.#starts.durationMs
    this.#atOnce = Math.max(1, shareOf(journey.atOnce, worker, workers))
    this.#workers = workers
    this.#number = worker
    this.#failedAt = journey.steps.map(() => 0)
  }

  peek(): number {
    return Math.min(this.#starts.peek(), this.#later.first)
  }

  advance(): void {
    this.take()
  }

  take(): JourneyRun {
    const due = this.peek()
    const run = due === this.#later.first ? this.#resume(due) : this.#begin(due)
    run.answer = this.#steps[run.step]!.extract.length > 0 ? new AnswerParts() : undefined
    return run
  }

  #resume(due: number): JourneyRun {
    this.#later.removeFirst()
    const runs = this.#runs.get(due)!
    const run = runs.shift()!
    if (runs.length === 0) this.#runs.delete(due)
    return run
  }

  #begin(dueMs: number): JourneyRun {
    this.#starts.advance()
    const refused = this.#open >= this.#atOnce
    const number = this.#number
    this.#number += this.#workers
    this.#scheduled++
    if (refused) this.#notStarted++
    else this.#open++
    return { number, dueMs, step: 0, extracted: {}, answer: undefined, refused }
  }

  ended(atMs: number, _connected: boolean, _due: number, end: RequestEnd, _ownMs: number, run?: JourneyRun): void {
    if (run === undefined) return
    const passed = typeof end === 'number' && end >= 200 && end < 400 && this.#extract(run)
    run.answer = undefined
    if (!passed) {
      this.#failedAt[run.step]!++
      this.#open--
    } else if (run.step === this.#steps.length - 1) {
      this.#completed++
      this.#open--
      this.#duration.record(atMs - run.dueMs)
    } else {
      run.step++
      const due = atMs + this.#steps[run.step]!.thinkMs
      this.#later.add(due)
      const runs = this.#runs.get(due)
      if (runs === undefined) this.#runs.set(due, [run])
      else runs.push(run)
    }
  }

  #extract({ step, answer, extracted }: JourneyRun): boolean {
    const { name, extract } = this.#steps[step]!
    for (const each of extract) {
      const value = answer?.read(each)
      if (value === undefined) {
        const what = `${name}: ${each.name}`
        this.#missing[what] = (this.#missing[what] ?? 0) + 1
        return false
      }
      extracted[each.name] = value
    }
    return true
  }

  data(): JourneyData {
    return {
      scheduled: this.#scheduled,
      completed: this.#completed,
      failedAt: this.#failedAt,
      notStarted: this.#notStarted,
      cut: this.#open,
      missing: this.#missing,
      duration: this.#duration.toJSON(),
    }
  }
}
