/**
 * Which place in the code held the loop during a stall, from the stacks that were seen meanwhile. A place is named only
 * when it is known to have held more than half of the stall; anything else is unknown. Pure.
 */

export interface Frame {
  /** Empty for a function without a name. */
  readonly name: string
  readonly file: string
  readonly line: number
  readonly column: number
  /** Node's module loader called it: it is the top level of a module. */
  readonly loads: boolean
}

/** What was seen of the main thread from `fromMs` to `toMs`, which are the same for a look at one moment. */
export interface Sample {
  /** When the watcher asked. What ran from then until `fromMs` is not known: native code, or nothing for want of CPU. */
  readonly askedAtMs: number
  readonly fromMs: number
  readonly toMs: number
  /** The frames of the app, outermost first. */
  readonly frames: readonly Frame[]
  /** What the innermost of these frames had called, in words. */
  readonly cause: string | undefined
  /** The request that the code worked for. */
  readonly request: object | undefined
}

export interface Place {
  readonly name: string
  readonly file: string
  readonly line: number
  readonly column: number
  /** More than `line` where a loop was seen on several lines, none of which held it for half of the stall. */
  readonly lastLine: number
}

export interface Judgement {
  readonly place: Place | undefined
  readonly cause: string | undefined
  readonly request: object | undefined
}

/**
 * A look that comes this long after the question may have waited for native code, and then be on a later line, ms. In a loop
 * of JavaScript it comes after 0.2 to 0.6 (bench/culprit.ts); on a machine without free CPU later, and then less is named.
 */
const PROMPT_MS = 2
/** Of the time between two samples each vouches for this much at most, ms: the watcher itself may have been late. */
const MOST_VOUCHED_MS = 60

/** A line belongs to the range that is named if it held at least this share of the stall. Loops only pass the others. */
const LEAST_OF_RANGE = 0.1

export const UNKNOWN: Judgement = { place: undefined, cause: undefined, request: undefined }

interface Weighed {
  readonly sample: Sample
  readonly frames: readonly Frame[]
  readonly ms: number
}

/** @param samples of this stall, oldest first */
export function judge(samples: readonly Sample[], fromMs: number, toMs: number): Judgement {
  const half = (toMs - fromMs) / 2
  let held = weigh(samples, fromMs, toMs)
  // One look may meet a turn of many short pieces in any of them.
  if (held.every(({ sample }) => sample.fromMs === sample.toMs) && held.length < 2) return UNKNOWN
  let depth = 0
  for (;;) {
    const inner = heaviest(held, ({ frames: { [depth]: frame } }) => frame && `${frame.file}\n${frame.name}`)
    if (sum(inner) <= half) break
    held = inner
    depth++
  }
  if (depth === 0) return UNKNOWN
  const { frames } = held[0]!
  const line = heaviest(held, each => each.frames[depth - 1]!.line)
  const isHeld = (at: number): boolean =>
    sum(held.filter(each => each.frames[depth - 1]!.line === at)) >= (toMs - fromMs) * LEAST_OF_RANGE
  const isOneLine = sum(line) > half
  const lines = (isOneLine ? line : held).map(each => each.frames[depth - 1]!.line).filter(isHeld)
  const { name, file, column } = (isOneLine ? line[0]!.frames : frames)[depth - 1]!
  if (lines.length === 0) return UNKNOWN
  const first = Math.min(...lines)
  return {
    place: { name, file, column: isOneLine ? column : 1, line: first, lastLine: Math.max(...lines) },
    cause: commonOf(isOneLine ? line : held, ({ sample }) => sample.cause) ?? loading(frames, depth),
    request: commonOf(held, ({ sample }) => sample.request),
  }
}

/**
 * Each sample with the part of the stall that it vouches for: half of the time to the next, and to the one before unless
 * it came late.
 */
function weigh(samples: readonly Sample[], fromMs: number, toMs: number): Weighed[] {
  return samples.flatMap((sample, i) => {
    const start = Math.max(sample.fromMs, fromMs)
    const end = Math.min(sample.toMs, toMs)
    if (end < start) return []
    const before = samples[i - 1]
    const after = samples[i + 1]
    const isLate = sample.fromMs - sample.askedAtMs > PROMPT_MS
    // Before the first look anything may have run.
    const earlier = before === undefined || isLate ? 0 : Math.max(0, start - Math.max(before.toMs, fromMs)) / 2
    const later = after === undefined ? toMs - end : Math.max(0, after.askedAtMs - end) / 2
    const ms = end - start + Math.min(earlier, MOST_VOUCHED_MS) + Math.min(later, MOST_VOUCHED_MS)
    return [{ sample, frames: sample.frames, ms }]
  })
}

/** Those of one key that weigh most together. */
function heaviest(held: readonly Weighed[], keyOf: (each: Weighed) => string | number | undefined): Weighed[] {
  const byKey = new Map<string | number, Weighed[]>()
  for (const each of held) {
    const key = keyOf(each)
    if (key === undefined) continue
    const group = byKey.get(key)
    if (group === undefined) byKey.set(key, [each])
    else group.push(each)
  }
  let most: Weighed[] = []
  for (const group of byKey.values()) if (sum(group) > sum(most)) most = group
  return most
}

function sum(held: readonly Weighed[]): number {
  return held.reduce((total, { ms }) => total + ms, 0)
}

/** What all of them have; undefined when they differ. */
function commonOf<T>(held: readonly Weighed[], read: (each: Weighed) => T | undefined): T | undefined {
  const first = read(held[0]!)
  return held.every(each => read(each) === first) ? first : undefined
}

/** The outermost frame of a start is the app's own module. */
function loading(frames: readonly Frame[], depth: number): string | undefined {
  return frames.some(({ loads }, i) => loads && i > 0 && i <= depth) ? 'loading a module' : undefined
}

/** Such as `renderInvoice, src/invoice.js:88 (JSON.stringify)`; `folder` is cut off. */
export function placeText({ place, cause }: Judgement, folder: string): string {
  if (place === undefined) return cause ?? 'unknown'
  const { name, file, line, lastLine } = place
  const path = file.startsWith(folder) ? file.slice(folder.length) : file
  const lines = lastLine > line ? `${line}-${lastLine}` : String(line)
  return `${name === '' ? '' : `${name}, `}${path}:${lines}${cause === undefined ? '' : ` (${cause})`}`
}
