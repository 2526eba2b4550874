/**
 * Draws docs/images/admission.svg from the simulator: requests that hold one of ten connections for 50 ms, at three
 * times the capacity of these connections. Left: the throughput at each limit. Right: how the limiter finds its limit.
 *
 *   node bench/admission-picture.ts
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConcurrencyLimiter } from '../packages/meltproof/src/admission/limiter/concurrency-limiter.ts'
import { fixedLimit } from '../packages/meltproof/src/admission/limiter/limiter.ts'
import { goodRate } from '../packages/meltproof/sim/figures.ts'
import { pool50 } from '../packages/meltproof/sim/scenarios.ts'
import { simulate } from '../packages/meltproof/sim/service.ts'

const CAPACITY = 200
const MOST_LIMIT = 48
const [WIDTH, HEIGHT] = [960, 400]
const LEFT = { x: 70, y: 92, w: 340, h: 230 }
const RIGHT = { x: 500, y: 92, w: 420, h: 230 }

interface Moment {
  readonly atMs: number
  readonly inService: number
  readonly limit: number
  readonly phase: string
}

/** Records the state of the limiter whenever a request is admitted or completes. */
function trace(): Moment[] {
  const moments: Moment[] = []
  class Watched extends ConcurrencyLimiter {
    #inService = 0
    override admitted(nowMs: number): void {
      super.admitted(nowMs)
      this.#inService++
      this.#note(nowMs)
    }
    override completed(...given: Parameters<ConcurrencyLimiter['completed']>): void {
      super.completed(...given)
      this.#inService--
      this.#note(given[0])
    }
    #note(atMs: number): void {
      const { limit, reason, phase } = this
      moments.push({ atMs, inService: this.#inService, limit, phase: phase === 'open' ? reason : phase })
    }
  }
  simulate({ rate: () => 3 * CAPACITY, steps: pool50 }, { seconds: 3, seed: 2, limiter: busyMs => new Watched(busyMs) })
  return moments.filter(({ atMs }) => atMs < MOST_MS)
}

const MOST_MS = 1200
const MOST_IN_SERVICE = 75
const PHASES: Readonly<Record<string, readonly [style: string, says: string]>> = {
  none: ['open', 'open'],
  suspected: ['hold', 'hold'],
  measure: ['measure', 'measure'],
  lower: ['hold', 'try half'],
  higher: ['hold', 'try more'],
  rest: ['rest', 'rest'],
}

const px = (value: number): string => value.toFixed(1)
const text = (x: number, y: number, says: string, rest = ''): string =>
  `<text x="${px(x)}" y="${px(y)}"${rest === '' ? '' : ` ${rest}`}>${says}</text>`
const line = (style: string, points: readonly (readonly [x: number, y: number])[]): string =>
  `<polyline class="${style}" points="${points.map(([x, y]) => `${px(x)},${px(y)}`).join(' ')}"/>`

function throughput(): string[] {
  const { x, y, w, h } = LEFT
  const cx = (limit: number): number => x + (w * limit) / MOST_LIMIT
  const cy = (rate: number): number => y + h - (h * rate) / 240
  const limits = Array.from({ length: MOST_LIMIT / 2 }, (_, i) => 2 * (i + 1))
  const runs = limits.map(limit =>
    simulate({ rate: () => 3 * CAPACITY, steps: pool50 }, { seconds: 10, seed: 1, limiter: () => fixedLimit(limit) }),
  )
  return [
    text(x, y - 26, 'What a limit gives', 'class="name"'),
    ...[0, 100, 200].map(
      rate =>
        `<line class="grid" x1="${x}" x2="${x + w}" y1="${px(cy(rate))}" y2="${px(cy(rate))}"/>` +
        text(x - 8, cy(rate) + 4, `${rate}/s`, 'class="tick" text-anchor="end"'),
    ),
    ...[10, 20, 30, 40].map(limit => text(cx(limit), y + h + 18, String(limit), 'class="tick" text-anchor="middle"')),
    text(x + w, y + h + 38, 'limit: requests in service at once', 'class="tick" text-anchor="end"'),
    `<rect class="rest" x="${px(cx(17))}" y="${y}" width="${px(cx(24) - cx(17))}" height="${h}"/>`,
    text(cx(20.5), y + 16, 'rest here', 'text-anchor="middle"'),
    `<line class="knee" x1="${px(cx(10))}" x2="${px(cx(10))}" y1="${y}" y2="${y + h}"/>`,
    text(cx(10) - 6, y + 16, 'knee', 'text-anchor="end"'),
    line('rate', [[cx(0), cy(0)], ...runs.map((run, i) => [cx(limits[i]!), cy(goodRate(run, 2))] as const)]),
    text(cx(11), cy(40), 'below: connections idle', 'class="tick"'),
    text(cx(25), cy(176), 'above: no more is served,', 'class="tick"'),
    text(cx(25), cy(160), 'all only wait longer', 'class="tick"'),
  ]
}

function search(): string[] {
  const { x, y, w, h } = RIGHT
  const cx = (ms: number): number => x + (w * ms) / MOST_MS
  const cy = (requests: number): number => y + h - (h * requests) / MOST_IN_SERVICE
  const moments = trace()
  const phases = moments.filter(({ phase }, i) => moments[i - 1]?.phase !== phase)
  const bands = phases.map(({ atMs, phase }, i) => ({
    ...{ phase, lowered: i % 2 },
    fromMs: i === 0 ? 0 : atMs,
    untilMs: phases[i + 1]?.atMs ?? MOST_MS,
  }))
  const limited = moments.filter(({ limit }) => limit <= MOST_IN_SERVICE)
  return [
    text(x, y - 26, 'How the limiter finds it', 'class="name"'),
    ...bands.map(
      ({ phase, fromMs, untilMs }) =>
        `<rect class="${PHASES[phase]![0]}" x="${px(cx(fromMs))}" y="${y}" width="${px(cx(untilMs) - cx(fromMs))}" height="${h}"/>`,
    ),
    // A short phase leaves little room next to the name of the following phase.
    ...bands.map(({ phase, lowered, fromMs, untilMs }) =>
      text(cx((fromMs + untilMs) / 2), y + 16 + 16 * lowered, PHASES[phase]![1], 'class="small" text-anchor="middle"'),
    ),
    ...[0, 20, 40, 60].map(
      requests =>
        `<line class="grid" x1="${x}" x2="${x + w}" y1="${px(cy(requests))}" y2="${px(cy(requests))}"/>` +
        text(x - 8, cy(requests) + 4, String(requests), 'class="tick" text-anchor="end"'),
    ),
    line(
      'service',
      moments.map(({ atMs, inService }) => [cx(atMs), cy(inService)] as const),
    ),
    line('limit', [
      ...limited.flatMap(({ atMs, limit }, i) => [
        [cx(atMs), cy(limited[i - 1]?.limit ?? limit)] as const,
        [cx(atMs), cy(limit)] as const,
      ]),
      [cx(MOST_MS), cy(limited.at(-1)!.limit)],
    ]),
    text(cx(0.7 * MOST_MS), cy(26), 'limit', 'class="limited"'),
    text(cx(0.7 * MOST_MS), cy(9), 'in service', 'class="tick"'),
    ...[0, 500, 1000].map(ms => text(cx(ms), y + h + 18, `${ms / 1000}`, 'class="tick" text-anchor="middle"')),
    text(x + w, y + h + 38, 'seconds since the overload began', 'class="tick" text-anchor="end"'),
  ]
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title">
<title id="title">Throughput is flat in the limit from a knee on; the limiter sees after a tenth of a second that requests wait for each other, lets those in service leave, and rests above the knee</title>
<style>
text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:13px;fill:#16181d}
.name{font-size:16px;font-weight:650}.tick{fill:#5b6270;font-size:12px}.small{font-size:12px}
.paper{fill:#fff}.grid{stroke:#e6e8ec}.knee{stroke:#5b6270;stroke-dasharray:4 4}
.rate,.limit{fill:none;stroke:#0072b2;stroke-width:3;stroke-linejoin:round}.limited{fill:#0072b2}
.service{fill:none;stroke:#5b6270;stroke-width:1.5}
.open{fill:#f3f4f6}.measure{fill:#f7f1cf}.hold{fill:#fbdcc0}.rest{fill:#dff1e6}
@media (prefers-color-scheme:dark){text{fill:#f2f4f8}.tick{fill:#a3abb9}.paper{fill:#12151b}.grid{stroke:#262b35}
.rate,.limit{stroke:#56b4e9}.limited{fill:#56b4e9}.service{stroke:#a3abb9}
.open{fill:#1a1f28}.measure{fill:#3d3916}.hold{fill:#51331a}.rest{fill:#163b2a}}
</style>
<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="12"/>
${text(24, 32, 'Ten connections of 50 ms each, and three times as many requests as they can serve', 'class="tick"')}
${[...throughput(), ...search()].join('\n')}
</svg>
`
writeFileSync(join(import.meta.dirname, '../docs/images/admission.svg'), svg)
