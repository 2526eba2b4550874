/** Assembles and starts everything that naming stalls needs in this process; `close()` removes it. */
import { sep } from 'node:path'
import { Worker } from 'node:worker_threads'
import { culprits, stalls } from '../channels.ts'
import { now, threadsClockMs } from '../clock.ts'
import { showThrown } from '../options.ts'
import type { StallRecord } from '../record.ts'
import { arrivedNoEarlierThan, watchDelays } from '../signals/loop-stalls.ts'
import { type NamedStall, stallNaming } from '../signals/named-stalls.ts'
import { quietly, type Warn } from '../warnings.ts'
import { Garbage } from './garbage.ts'
import { NamedStalls, stallText } from './named-stalls.ts'
import { type Judgement, placeText } from './place.ts'
import { callerOf, followRequests, routeText } from './running-request.ts'
import { Samples } from './samples.ts'
import { BEAT_AT, CONNECTED, DUE_AT, PAUSED, type SharedWords, shareWords } from './shared-words.ts'
import { sourceOf } from './source-lines.ts'
import { watchSyncCalls } from './sync-calls.ts'
import { type WatcherData, watch } from './watcher.ts'

/** The watcher evaluates EXPRESSION on the main thread. EXPRESSION calls the function at `globalThis[LOOK]`. */
const LOOK = Symbol.for('meltproof.culprit.look')
const EXPRESSION = `globalThis[Symbol.for('${LOOK.description}')]?.()`

/** A heartbeat may be this late before the watcher samples, ms: most turns of a busy loop take less. */
const LATE_MS = 25
const FIRST_BEAT_MS = 1000
/** The inspector may be opened and closed at any time; it is checked at this interval, ms. */
const INSPECTOR_EVERY_MS = 1000
/** Maximum time that the main thread waits until the watcher has ended its session, ms. */
const DISCONNECT_MS = 100
const LASTING_MS: readonly number[] = [5000, 30_000, 300_000]

export class Watching {
  readonly #thresholdMs: number
  readonly #say: Warn
  readonly #shared: SharedWords = shareWords()
  readonly #samples = new Samples(this.#shared)
  readonly #garbage = new Garbage()
  readonly #named = new NamedStalls()
  readonly #folder = process.cwd() + sep
  readonly #worker: Worker
  readonly #undo: (() => void)[] = []
  #askedInspectorAtMs = Number.NEGATIVE_INFINITY
  #saidInspector = false
  #closed = false

  /** @throws Node's error if the process may not start a worker thread */
  constructor(thresholdMs: number, say: Warn, lastingMs: readonly number[] = LASTING_MS) {
    this.#thresholdMs = thresholdMs
    this.#say = say
    this.#beat(FIRST_BEAT_MS)
    this.#worker = startWorker(this.#shared, lastingMs)
    this.#worker
      .on('message', error => this.#fail(error))
      .on('error', error => {
        // The session has ended with its thread.
        this.#shared.words[CONNECTED] = 0
        this.#fail(error)
      })
    this.#worker.unref()
    const look = (): string => quietly(() => this.#samples.look(look)) ?? 'unknown'
    Object.defineProperty(globalThis, LOOK, { value: look, configurable: true })
    const onStall = (stall: StallRecord): void => this.#guard(() => this.#onStall(stall))
    const onExit = (): void => this.#disconnect()
    stalls.subscribe(onStall)
    process.once('exit', onExit)
    this.#undo.push(
      () => stalls.unsubscribe(onStall),
      () => process.off('exit', onExit),
      watchDelays((...[, , nextInMs]) => this.#guard(() => this.#onBeat(nextInMs))),
      followRequests(),
      watchSyncCalls(this.#shared.words, (what, before, self) =>
        quietly(() => this.#samples.caught(what, before, self)),
      ),
    )
    stallNaming.figures = {
      seconds: () => this.#named.seconds(),
      between: (fromMs, toMs) => this.#between(fromMs, toMs),
      explain: () => this.#named.explain(now()),
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const undo of this.#undo) undo()
    stallNaming.figures = undefined
    this.#garbage.close()
    Reflect.deleteProperty(globalThis, LOOK)
    this.#disconnect()
    void this.#worker.terminate()
  }

  /**
   * Has the watcher end its session, if it has one, and open no other. At exit, Node would wait for a session to end,
   * and print that it waits for a debugger.
   */
  #disconnect(): void {
    const { words } = this.#shared
    Atomics.store(words, PAUSED, 1)
    if (Atomics.load(words, CONNECTED) === 0) return
    this.#worker.postMessage('disconnect')
    Atomics.wait(words, CONNECTED, 1, DISCONNECT_MS)
  }

  #onBeat(nextInMs: number): void {
    this.#beat(nextInMs)
    const nowMs = now()
    if (nowMs - this.#askedInspectorAtMs < INSPECTOR_EVERY_MS) return
    this.#askedInspectorAtMs = nowMs
    const isOpen = process.getBuiltinModule('node:inspector').url() !== undefined
    this.#shared.words[PAUSED] = isOpen ? 1 : 0
    if (!isOpen || this.#saidInspector) return
    this.#saidInspector = true
    this.#say('meltproof does not name stalls while the inspector is open, because a debugger may pause the process.')
  }

  #beat(nextInMs: number): void {
    const { times } = this.#shared
    const atMs = threadsClockMs()
    times[DUE_AT] = atMs + nextInMs + LATE_MS
    times[BEAT_AT] = atMs
  }

  #onStall({ fromMs, toMs }: StallRecord): void {
    if (toMs - fromMs >= this.#thresholdMs) this.#tell(this.#judge(fromMs, toMs), fromMs, toMs)
    this.#samples.forget(toMs)
  }

  #tell(judgement: Judgement, fromMs: number, toMs: number): void {
    const stall = this.#stallOf(judgement, fromMs, toMs)
    this.#named.add(stall)
    const { place, route, traceId, requestId } = stall
    if (culprits.hasSubscribers) {
      const { file, line, name: functionName } = judgement.place ?? {}
      const { cause } = judgement
      culprits.publish({ fromMs, toMs, place, file, line, functionName, cause, route, traceId, requestId })
    }
    if (this.#named.isToBeSaid(place, toMs)) this.#say(`The event loop stalled for ${stallText(stall)}`)
  }

  #judge(fromMs: number, toMs: number): Judgement {
    const judgement = this.#samples.judge(fromMs, toMs)
    if (judgement.place !== undefined) return { ...judgement, place: sourceOf(judgement.place) }
    const isGarbage = this.#garbage.collectedBetween(fromMs, toMs) > (toMs - fromMs) / 2
    return isGarbage ? { ...judgement, cause: 'garbage collection' } : judgement
  }

  #stallOf(judgement: Judgement, fromMs: number, toMs: number): NamedStall {
    const { request } = judgement
    return {
      ...{ fromMs, toMs },
      place: placeText(judgement, this.#folder),
      route: request && routeText(request),
      ...callerOf(request),
      // The last stalls are stored, and must not keep their requests in memory.
      request: request && new WeakRef(request),
    }
  }

  /** The stalls in this interval, including one that has just ended and that the next heartbeat will report. */
  #between(fromMs: number, toMs: number): readonly NamedStall[] {
    const ended = this.#named.between(fromMs, toMs)
    const nowMs = now()
    const sinceMs = arrivedNoEarlierThan(nowMs)
    const isKnown = ended.some(stall => stall.toMs > sinceMs)
    if (nowMs - sinceMs < this.#thresholdMs || sinceMs >= toMs || isKnown) return ended
    return [...ended, this.#stallOf(this.#judge(sinceMs, nowMs), sinceMs, nowMs)]
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#closed) return
    this.close()
    this.#say(`meltproof has stopped naming stalls. ${showThrown(error)}`)
  }
}

/** The thread gets none of the process's arguments: they may load modules that are meant for the app's threads. */
function startWorker(shared: SharedWords, lastingMs: readonly number[]): Worker {
  return new Worker(`(${watch.toString()})(require, ${threadsClockMs.toString()})`, {
    eval: true,
    workerData: { ...shared, expression: EXPRESSION, lastingMs } satisfies WatcherData,
    name: 'meltproof culprit',
    env: {},
    execArgv: [],
    stdin: false,
    // Otherwise Node opens the process's own stdout and stderr, which makes them non-blocking.
    stdout: true,
    stderr: true,
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  })
}
