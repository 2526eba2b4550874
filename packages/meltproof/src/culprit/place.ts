/**
 * Decides which place in the code blocked the loop during a stall, from the stacks that were sampled during the stall.
 * A place is named only if it certainly ran for more than half of the stall; otherwise it is unknown. Pure.
 */

export interface Frame {
  /** Empty for an anonymous function. */
  readonly name: string
  readonly file: string
  readonly line: number
  readonly column: number
  /** True for the top level of a module that Node's module loader called, except for the main module. */
  readonly loads: boolean
}

/** The stack of the main thread from `fromMs` to `toMs`, which are equal for a sample of one moment. */
export interface Sample {
  /** When the watcher asked for the sample. Until `fromMs`, native code may have run, or the thread had no CPU. */
  readonly askedAtMs: number
  readonly fromMs: number
  readonly toMs: number
  /** The frames of the app, outermost first. */
  readonly frames: readonly Frame[]
  /** The function of Node or V8 that the innermost of these frames had called. */
  readonly cause: string | undefined
  readonly request: object | undefined
}

export interface Place extends Omit<Frame, 'loads'> {
  /** Greater than `line` for a loop that was sampled on several lines, none of which took half of the stall. */
  readonly lastLine: number
}

export interface Judgement {
  readonly place: Place | undefined
  readonly cause: string | undefined
  readonly request: object | undefined
}

/**
 * A sample taken more than this after the watcher asked for it, ms, may have waited for native code and show a later
 * line. A loop in JavaScript answers after 0.2 to 0.6 ms (bench/culprit.ts). On a machine without free CPU it answers
 * later, and fewer places are named.
 */
const PROMPT_MS = 2
/** A sample covers at most this much time before and after it, ms, because the watcher may have been late. */
const MOST_VOUCHED_MS = 60

/** A line belongs to the named range if it took this share of the stall. A loop passes its other lines quickly. */
const LEAST_OF_RANGE = 0.1

const UNKNOWN: Judgement = { place: undefined, cause: undefined, request: undefined }

interface Weighed {
  readonly sample: Sample
  readonly ms: number
}

/** @param samples of this stall, oldest first */
export function judge(samples: readonly Sample[], fromMs: number, toMs: number): Judgement {
  const half = (toMs - fromMs) / 2
  let held = weigh(samples, fromMs, toMs)
  // A turn may consist of many short pieces of work, so a single sample proves nothing.
  if (held.length < 2 && held.every(({ sample }) => sample.fromMs === sample.toMs)) return UNKNOWN
  let depth = 0
  for (;;) {
    const next = heaviest(held, ({ sample }) => {
      const frame = sample.frames[depth]
      return frame && `${frame.file}\n${frame.name}`
    })
    if (sum(next) <= half) break
    held = next
    depth++
  }
  if (depth === 0) return UNKNOWN
  const frameOf = ({ sample }: Weighed): Frame => sample.frames[depth - 1]!
  const line = heaviest(held, each => frameOf(each).line)
  const isOneLine = sum(line) > half
  const shown = isOneLine ? line : held
  const isHeld = (at: number): boolean =>
    sum(held.filter(each => frameOf(each).line === at)) >= (toMs - fromMs) * LEAST_OF_RANGE
  const lines = shown.map(each => frameOf(each).line).filter(isHeld)
  if (lines.length === 0) return UNKNOWN
  const { name, file, column } = frameOf(shown[0]!)
  return {
    place: { name, file, column: isOneLine ? column : 1, line: Math.min(...lines), lastLine: Math.max(...lines) },
    cause: commonOf(shown, ({ sample }) => sample.cause) ?? loading(held[0]!.sample.frames, depth),
    request: commonOf(held, ({ sample }) => sample.request),
  }
}

/**
 * Gives each sample its part of the stall: half of the time to the next sample, and half of the time to the one before
 * unless the sample was late.
 */
function weigh(samples: readonly Sample[], fromMs: number, toMs: number): Weighed[] {
  return samples.flatMap((sample, i) => {
    const start = Math.max(sample.fromMs, fromMs)
    const end = Math.min(sample.toMs, toMs)
    if (end < start) return []
    const before = samples[i - 1]
    const after = samples[i + 1]
    const isLate = sample.fromMs - sample.askedAtMs > PROMPT_MS
    // Before the first sample anything may have run.
    const earlier = before === undefined || isLate ? 0 : Math.max(0, start - Math.max(before.toMs, fromMs)) / 2
    const later = after === undefined ? toMs - end : Math.max(0, after.askedAtMs - end) / 2
    const ms = end - start + Math.min(earlier, MOST_VOUCHED_MS) + Math.min(later, MOST_VOUCHED_MS)
    return [{ sample, ms }]
  })
}

/** The samples that share a key, for the key with the largest total weight. */
function heaviest(held: readonly Weighed[], keyOf: (each: Weighed) => string | number | undefined): Weighed[] {
  const byKey = Map.groupBy(held, keyOf)
  byKey.delete(undefined)
  let most: Weighed[] = []
  for (const group of byKey.values()) if (sum(group) > sum(most)) most = group
  return most
}

function sum(held: readonly Weighed[]): number {
  return held.reduce((total, { ms }) => total + ms, 0)
}

/** The value that all samples share; undefined when they differ. */
function commonOf<T>(held: readonly Weighed[], read: (each: Weighed) => T | undefined): T | undefined {
  const first = read(held[0]!)
  return held.every(each => read(each) === first) ? first : undefined
}

function loading(frames: readonly Frame[], depth: number): string | undefined {
  return frames.some(({ loads }, i) => loads && i <= depth) ? 'loading a module' : undefined
}

/** A text such as `renderInvoice, src/invoice.js:88 (JSON.stringify)`; `folder` is removed from the path. */
export function placeText({ place, cause }: Judgement, folder: string): string {
  if (place === undefined) return cause ?? 'unknown'
  const { name, file, line, lastLine } = place
  const path = file.startsWith(folder) ? file.slice(folder.length) : file
  const lines = lastLine > line ? `${line}-${lastLine}` : String(line)
  return `${name === '' ? '' : `${name}, `}${path}:${lines}${cause === undefined ? '' : ` (${cause})`}`
}
