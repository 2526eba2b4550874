/** The variants of bench/admission.ts: each rule switched off, and each constant at other values. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Edit } from './edited-source.ts'

const admission = join(import.meta.dirname, '../../packages/meltproof/src/admission')

export interface Rule {
  readonly name: string
  readonly what: string
  readonly edits: readonly Edit[]
}

const LIMITER = 'limiter/concurrency-limiter.ts'
const WAITING = 'limiter/waiting-kinds.ts'
const CONTENTION = 'limiter/contention.ts'
const QUEUE = 'queue/standing-queue.ts'
const PACE = 'queue/departure-pace.ts'

const rule = (name: string, what: string, ...edits: (readonly [file: string, find: string, put: string])[]): Rule => ({
  name,
  what,
  edits: edits.map(([file, find, put]) => ({ file, find, put })),
})

export const RULES: readonly Rule[] = [
  rule('contention', 'a limit where requests wait for each other', [
    LIMITER,
    'if (share !== undefined && enough && ',
    'if (share === null && ',
  ]),
  rule(
    'waiting-kinds',
    'kinds that merely wait, which do not count',
    [LIMITER, 'return this.#kinds.uncounted', 'return 0'],
    [LIMITER, 'const counts = this.#kinds.counts(kind)', 'const counts = true'],
  ),
  rule('reference', 'a knee that is compared with the limit at which throughput was measured', [
    LIMITER,
    'Math.max(this.#limit, this.#inflight / 2)',
    'Math.max(this.#limit, this.#inflight)',
  ]),
  rule('refuted', 'no second suspicion soon after the first was refuted', [LIMITER, ' && !this.#refuted(nowMs)', '']),
  rule('stragglers', 'stragglers, which go on without a permit', [
    'in-service/stragglers.ts',
    'return request.servingSince <= this.#startedBefore &&',
    'return request.servingSince > Number.MAX_VALUE &&',
  ]),
  rule('fair-shares', 'fair shares between kinds', [
    'sim/instance.ts',
    'kind: workload.kinds === undefined ? undefined :',
    'kind: 1 > 0 ? undefined :',
  ]),
  rule('newest-first', 'newest first while the queue stands', [
    QUEUE,
    "? 'newest' : 'oldest'",
    "? 'oldest' : 'oldest'",
  ]),
  rule('gets-faster', 'no overload while the service gets faster', [
    PACE,
    'return this.#fasterInARow >=',
    'return this.#fasterInARow < 0 && this.#fasterInARow >=',
  ]),
  rule('kept-knee', 'no more above the knee than 100 ms of work', [
    'limiter/probe.ts',
    'Math.min(knee, reference.rate * tuning.workElsewhereMs)',
    'knee',
  ]),
  rule('effective-answers', 'answers weighed by their work', [
    'limiter/measurement.ts',
    'this.#servedMs ** 2 / this.#squares',
    'this.#answers',
  ]),
  rule('gave-up', 'half the limit where nobody is answered and clients give up', [
    LIMITER,
    "if (found === 'given up') this",
    'if (nowMs < 0) this',
  ]),
  rule('probe-given-up', 'giving up a probe that keeps everybody out', [
    LIMITER,
    'sinceMs > maxWindowMs)',
    'sinceMs > 1e9)',
  ]),
  rule('probe-idle', 'giving up a probe in which nobody is answered', [
    LIMITER,
    "if (found === 'idle' &&",
    'if (nowMs < 0 &&',
  ]),
  rule('raise', 'raising a limit at rest that is below the floor', [
    'limiter/rest.ts',
    'if (this.#count >= SURE && floor',
    'if (this.#count > 1e9 && floor',
  ]),
  rule('by-knee', 'a second look at a limit that a knee made', [
    'limiter/probe.ts',
    '(contended ? PROPORTION : 1)',
    'PROPORTION',
  ]),
  rule('loop-knee', 'twice the knee where the loop is scarce', [
    'limiter/probe.ts',
    'Math.max(floorOf(measured, tuning), (2 * limit) / busy)',
    'floorOf(measured, tuning)',
  ]),
  rule('idle-growth', 'no growth by answers of those who came before a halt', [
    LIMITER,
    '|| this.#idle.wasHeld(nowMs - serviceMs)',
    '',
  ]),
  rule('few', 'no limit where few wait for each other', [
    LIMITER,
    'this.#bound || 2 * this.#inflight >= this.#tuning.initial',
    'true',
  ]),
  rule('invalidated', 'a measurement begun anew after a stall', [
    LIMITER,
    '!this.#invalidated) this.#measureFrom',
    'this.#inService < 0) this.#measureFrom',
  ]),
  rule('held', 'answers that come at the same moment tell nothing of a kind', [
    WAITING,
    'HELD * (known.lastCame - known.firstCame)',
    '0',
  ]),
  rule('others-answered', 'a new kind grows while others are answered', [
    WAITING,
    'Math.max(boundSinceMs, this.#othersAnsweredAt)',
    'boundSinceMs',
  ]),
  rule('rises', 'a rise within the batch, for kinds that nothing limits', [
    CONTENTION,
    'agesMs !== undefined || this.#products > inService * this.#services',
    'true',
  ]),
  rule('stalls', 'long gaps between departures are stalls', [
    PACE,
    'nowMs - this.#lastStallAt > stallEveryMs',
    'nowMs < 0',
  ]),
  rule('hopeless', 'hopeless growth is seen at once', [
    QUEUE,
    'this.#backlogMs > hopeless * this.#tuning.maxWaitMs',
    'nowMs < 0',
  ]),
  rule('kept-longer', 'the last few in a standing queue are kept longer', [
    QUEUE,
    'stale * keptLonger : stale',
    'stale : stale',
  ]),
  rule('empty', 'a queue that is empty for a moment still stands', [
    QUEUE,
    'if (nowMs - this.#emptySince > this.#tuning.intervalMs) {',
    'if (nowMs >= this.#emptySince) {',
  ]),
]

export interface Constant {
  readonly name: string
  readonly shipped: string
  /** In order, with what ships among them. */
  readonly values: readonly string[]
  /** Of the comment above its declaration. */
  readonly reason: string
  editFor(value: string): Edit
}

/** File of the value and of the comment; then each constant with the values beside the one that ships. */
const VALUES: readonly (readonly [file: string, declared: string, Readonly<Record<string, readonly number[]>>])[] = [
  ['limiter/tuning.ts', 'limiter/tuning.ts', { initial: [8, 32], forgetMs: [1000, 20_000], idleMs: [200, 800] }],
  ['limiter/tuning.ts', 'limiter/search.ts', { workMs: [25, 100], workElsewhereMs: [50, 200], fell: [0.7, 0.95] }],
  ['limiter/tuning.ts', 'limiter/rest.ts', { lookEveryMs: [4000, 60_000] }],
  ['limiter/tuning.ts', 'limiter/measurement.ts', { samples: [12, 48], maxWindowMs: [500, 2000] }],
  ['limiter/tuning.ts', 'limiter/loop-load.ts', { loopBusy: [0.8, 0.97], busyWindowMs: [10, 40], busyToLimit: [1, 6] }],
  [
    'limiter/tuning.ts',
    WAITING,
    { promiseMs: [500, 2000], patienceMs: [200, 800], blindPerMs: [0.1, 1], blindMs: [400, 1600] },
  ],
  [
    'limiter/tuning.ts',
    CONTENTION,
    {
      larger: [1.2, 2],
      slower: [0.3, 0.8],
      atMost: [1.2, 2.5],
      alike: [0.25, 1],
      clearly: [1, 4],
      least: [4, 16],
      missing: [1, 5],
      soonMs: [0, 67],
    },
  ],
  [CONTENTION, CONTENTION, { KEPT: [4, 64] }],
  [WAITING, WAITING, { SOME: [2, 32], SLOWER: [1, 16], ENOUGH: [3, 16], HELD: [0.2, 0.8] }],
  [LIMITER, LIMITER, { ANSWER_WEIGHT: [0.05, 0.3], REFUTED: [0, 4] }],
  ['limiter/open.ts', 'limiter/open.ts', { ABOVE_KNEE: [1, 2.5] }],
  ['limiter/probe.ts', 'limiter/probe.ts', { PROPORTION: [0.7, 0.9] }],
  [
    'limiter/rest.ts',
    'limiter/rest.ts',
    { RATE_WEIGHT: [0.1, 1], SURE: [1, 20], RAISED: [1.1, 2], RAISED_BY_LOOP: [1.25, 4] },
  ],
  [
    QUEUE,
    QUEUE,
    {
      intervalMs: [50, 200],
      drains: [0.2, 0.6],
      targetMs: [20, 150],
      rememberMs: [2000, 40_000],
      maxWaitMs: [400, 1200],
      staleMs: [0, 160],
      staleDepartures: [3, 20],
      keptLonger: [2, 6],
      freshGaps: [0.1, 0.6],
      intervalsToStand: [3, 8],
      intervalsToStandAgain: [1, 4],
      HOPELESS: [1, 4],
      HOPELESS_IF_FASTER: [2, 6],
    },
  ],
  [
    PACE,
    PACE,
    {
      PACE_KEPT_MS: [200, 5000],
      DEPARTURES_COUNTED: [4, 16],
      STALL_GAPS: [8, 50],
      STALL_EVERY_MS: [200, 1500],
      FIRST_STALL_EVERY_MS: [1000, 9000],
      FASTER: [0.9, 1],
      FASTER_IN_A_ROW: [1, 3],
    },
  ],
  ['admission/gate.ts', 'admission/gate.ts', { turnBudgetMs: [4, 30], STALL_MS: [20, 150] }],
  [
    'in-service/stragglers.ts',
    'in-service/stragglers.ts',
    { straggleMs: [150, 600], overtakenBy: [1.5, 3], restsBelow: [0.7, 0.97], mostStragglers: [200, 1500] },
  ],
]

export const CONSTANTS: readonly Constant[] = VALUES.flatMap(([file, declared, constants]) =>
  Object.entries(constants).map(([name, others]) => constantIn(file, declared, name, others)),
)

function constantIn(file: string, declared: string, name: string, others: readonly number[]): Constant {
  const read = (each: string): string => readFileSync(join(admission, each.replace('admission/', '')), 'utf8')
  const [find, before, shipped] =
    new RegExp(`(?<=\\n)(?<before>(?:export )?const ${name} = |  ${name}: )(?<shipped>[\\d._]+)`).exec(read(file)) ?? []
  if (find === undefined || shipped === undefined) throw new Error(`${file} has no constant ${name}`)
  const [, comment = ''] =
    new RegExp(`/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n(?:const ${name} =|  readonly ${name}:)`).exec(read(declared)) ??
    []
  const ships = String(Number(shipped.replaceAll('_', '')))
  return {
    name,
    shipped: ships,
    values: [...others, Number(ships)].sort((a, b) => a - b).map(String),
    reason: comment.replace(/\s*\n\s*\*\s*/g, ' ').trim(),
    editFor: value => ({ file, find, put: `${before}${value}` }),
  }
}
