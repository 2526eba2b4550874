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
const COHORTS = 'limiter/cohorts.ts'
const LOOP = 'limiter/loop-limit.ts'
const TRIALS = 'limiter/loop-trial.ts'
const COUNTED = 'limiter/counted-requests.ts'
const STARVATION = 'limiter/starvation.ts'
const MEASUREMENT = 'limiter/measurement.ts'
const AFTER_HALT = 'limiter/after-halt.ts'
const ANSWERS = 'limiter/answers.ts'
const USUAL = 'limiter/usual-rate.ts'
const USUAL_TIMES = 'limiter/usual-times.ts'
const STARTS = 'limiter/start-times.ts'
const TUNING = 'limiter/tuning.ts'
const TIMES = 'in-service/service-times.ts'
const ABANDONED = 'in-service/abandoned.ts'
const GATE = 'admission/gate.ts'
const QUEUE = 'queue/standing-queue.ts'
const PACE = 'queue/departure-pace.ts'
const SIMULATED = 'sim/instance.ts'

const rule = (name: string, what: string, ...edits: (readonly [file: string, find: string, put: string])[]): Rule => ({
  name,
  what,
  edits: edits.map(([file, find, put]) => ({ file, find, put })),
})

/** Evidence that requests wait for each other. */
const EVIDENCE = [
  rule('cohorts', 'evidence from cohorts that requests wait for each other', [
    LIMITER,
    'const found = this.#loop.mayBeScarce ?',
    'const found = nowMs > 0 ?',
  ]),
  rule('two-rises', 'two rises, not one, as evidence', [COHORTS, 'isSure: false,', 'isSure: true,']),
  rule('hold', 'the hold of a suspicion', [
    LIMITER,
    'found !== undefined && found.serial > this.#suspected',
    'nowMs < 0',
  ]),
  rule('held-once', 'no second hold for the same cohort among few', [
    LIMITER,
    'found !== undefined && found.serial > this.#suspected',
    'found !== undefined',
  ]),
  rule('restricted-mean', 'the requests of a cohort that are still in service', [
    COHORTS,
    'if (took < 0) continue',
    'if (!(took >= 0)) continue',
  ]),
  rule('few-first', 'a cohort among few comes before the one among more', [
    COHORTS,
    ' || low.serial > high.serial',
    '',
  ]),
  rule('clear', 'a rise must exceed its noise', [
    COHORTS,
    'standardErrors * Math.sqrt(few.variance + many.variance)',
    '0',
  ]),
  rule('few-contend', 'no limit where few wait for each other', [
    LIMITER,
    'if (recent <= needed) {',
    'if (nowMs < 0) {',
  ]),
  rule('scarce-loop', 'no limit by cohorts where the loop is scarce', [
    LIMITER,
    'const found = this.#loop.mayBeScarce ?',
    'const found = nowMs < 0 ?',
  ]),
  rule('delayed', 'a rise in times must exceed the delay by the loop', [
    COHORTS,
    'const exceedsDelay = riseMs - delayMs > leastMs',
    'const exceedsDelay = true',
  ]),
  rule('delayed-matters', 'a rise in the times of delayed requests must exceed half', [
    COHORTS,
    'high.delayedUntilMs > 0 ? MATTERS_IF_DELAYED : matters',
    'matters',
  ]),
  rule(
    'seen-to-drain',
    'no overload before the queue in service is seen to drain',
    [LIMITER, 'return this.#isHeld || !this.#drains', 'return this.#isHeld'],
    [LIMITER, 'return this.#drains ? this.#above : 0', 'return this.#above'],
  ),
  rule('follow-window', 'a longer window for slow requests while nothing is limited', [
    LIMITER,
    'if (!this.#isKnown) this.#requests.follow(this.#meanMs)',
    'if (nowMs < 0) this.#requests.follow(this.#meanMs)',
  ]),
  rule('halt', 'a limit where answers came and stop', [
    LIMITER,
    'if (silentMs < Math.max(',
    'if (nowMs >= 0 || silentMs < Math.max(',
  ]),
  rule('after-halt', 'no limit where a dependency has only become slower for all', [
    LIMITER,
    "if (found === 'slower' && this.#waits) this.#open()",
    "if (found === 'slower' && nowMs < 0) this.#open()",
  ]),
  rule('halt-recent', 'no halt where most were in service before', [
    LIMITER,
    ' && 2 * this.#requests.since(this.#answeredAt) >= inService',
    '',
  ]),
]

/** The limit where the event loop is scarce. */
const LOOP_RULES = [
  rule(
    'loop',
    'a limit where the event loop never rests',
    [LOOP, 'nowMs - this.#busySince >= busyForMs', 'nowMs < 0'],
    [LOOP, 'this.hold = this.#holds(nowMs) ?', 'this.hold = nowMs < 0 ?'],
  ),
  rule('loop-trial', 'four times that limit is tried when fewer leave than under a higher one', [
    LOOP,
    'else if (this.#trial.starts(nowMs, this.limit))',
    'else if (nowMs < 0)',
  ]),
  rule('rested', 'after the service was idle, a burst is not taken for the overload before', [
    GATE,
    'if (idleMs > this.#tuning.restMs && ',
    'if (idleMs < 0 && ',
  ]),
  rule('loop-halves', 'half that limit while the loop stays busy', [LOOP, 'if (least < this.limit)', 'if (nowMs < 0)']),
  rule('loop-hold', 'further requests are held back before a busy loop is judged', [
    LOOP,
    'this.hold = this.#holds(nowMs) ?',
    'this.hold = nowMs < 0 ?',
  ]),
  rule('loop-stall', 'a short stall of the loop delays few requests', [
    LOOP,
    'this.scarceForMs >= 2 * busyForMs',
    'this.scarceForMs >= busyForMs',
  ]),
  rule('loop-others', 'no lower limit than the first where the loop is busy while nothing is in service', [
    LOOP,
    'isOthers ? fewest : 1)',
    '1)',
  ]),
  rule('loop-usual', 'no limit while requests take no longer than while the loop rested', [
    LOOP,
    'if (!this.#times.compare(nowMs, counted) && limitsByLoop)',
    'if (limitsByLoop)',
  ]),
  rule('quick-slow', 'no kind is quick of which one answer in fifty is slow', [
    TIMES,
    ' && this.#slowShare[kind]! <= MOST_SLOW',
    '',
  ]),
  rule('loop-grows', 'more while the loop rests and requests wait', [
    LOOP,
    'if (waits && counted >= this.limit)',
    'if (nowMs < 0)',
  ]),
  rule('loop-rested', 'no second try of a limit at which the loop rested', [
    LOOP,
    'nowMs < this.#restsUntil ? this.#restsBelow : 1',
    '1',
  ]),
]

/** How the limit is found and checked. */
const SEARCH = [
  rule('effective-count', 'answers counted by the time they took', [
    ANSWERS,
    'squares === 0 ? 0 : this.#ms ** 2 / squares',
    'this.all',
  ]),
  rule(
    'heavy-time',
    'the time of those that take most of it, not the mean',
    [ANSWERS, 'ms === 0 ? 0 : this.#squares / ms', 'this.meanMs'],
    [COHORTS, 'heavyMs: sum === 0 ? 0 : squares / sum', 'heavyMs: meanMs'],
  ),
  rule('capped-time', 'old requests count as the slowest that counts', [
    LIMITER,
    'Math.min(serviceMs, this.#requests.windowMs)',
    'serviceMs',
  ]),
  rule('cohort-knee', 'a first limit at the knee that cohorts showed', [
    LIMITER,
    'Math.min(this.#tuning.firstShare * recent, knee)',
    'this.#tuning.firstShare * recent',
  ]),
  rule('rate-since', 'a first limit by what left since the most were in service', [
    LIMITER,
    'Math.max(this.#rates.lately(nowMs), since)',
    'Math.min(this.#rates.lately(nowMs), since + 1e9)',
  ]),
  rule('no-queue', 'no first limit where those in service do not drain', [
    LIMITER,
    'this.#isNoQueue(sinceMs, isOver)',
    'nowMs < 0',
  ]),
  rule('drain', 'the limit from what leaves while the queue in service drains', [
    LIMITER,
    "if (this.#phase === 'measure') this.#limitByDrain(sinceMs)",
    'if (nowMs < 0) this.#limitByDrain(sinceMs)',
  ]),
  rule('first-check', 'the first check', [
    LIMITER,
    'rate < this.#rate * Math.sqrt(limit / this.#countedThen)',
    'false',
  ]),
  rule('lets-go', 'no limit where throughput falls as far as the limit', [
    LIMITER,
    'if (grows * limit >= this.#countedThen) this.#open()',
    'if (nowMs < 0) this.#open()',
  ]),
  rule('first-steps', 'the first limit rises while throughput rises and requests take no longer', [
    LIMITER,
    'if (!fell || takesLonger)',
    'if (nowMs >= 0)',
  ]),
  rule('back-at-once', 'no limit where the requests of a halt return at once', [
    AFTER_HALT,
    'return 2 * left >= halted &&',
    'return nowMs < 0 &&',
  ]),
  rule('lower', 'half the limit, as a trial', [
    LIMITER,
    'else if (nowMs >= this.#trialDueAt &&',
    'else if (nowMs < 0 &&',
  ]),
  rule('lower-waits', 'no second trial where requests hardly wait in service', [
    LIMITER,
    'this.#isFirstTrial || heavyMs - this.#aloneMs > LATE_WORKS * workMs',
    'nowMs >= 0',
  ]),
  rule('lower-given-up', 'a trial ends when it lets nothing in for a second', [
    LIMITER,
    "drains && this.#phase === 'lower' && sinceMs > promiseMs",
    'nowMs < 0',
  ]),
  rule('usual-best', 'the best of the last seconds as what can leave', [
    USUAL,
    'Math.max(this.usual * (1 - FORGOTTEN), this.#last)',
    'this.#last',
  ]),
  rule('follow-up', 'the limit follows throughput up', [
    LIMITER,
    'this.#measured >= MEASUREMENTS_BEFORE_RAISE && needed > raised * this.#limit',
    'nowMs < 0',
  ]),
  rule('usual-kept', 'a measurement far below the usual does not count', [
    LIMITER,
    'if (rate > starved * this.#rate) this.#rate +=',
    'this.#rate +=',
  ]),
  rule('bound', 'a measurement counts only if requests waited', [
    MEASUREMENT,
    'return this.#boundMs >= BOUND * this.#overMs',
    'return true',
  ]),
  rule('forget', 'a limit that was not reached is forgotten', [
    LIMITER,
    'if (nowMs - this.#unboundAt > this.#tuning.forgetMs)',
    'if (nowMs < 0)',
  ]),
  rule('forget-unbound', 'a limit that requests rarely wait for is forgotten', [
    LIMITER,
    'else if (nowMs - this.#boundAt > this.#tuning.forgetMs)',
    'else if (nowMs < 0)',
  ]),
]

/** Requests that stay far longer than others. */
const COUNTING = [
  rule('uncounted', 'old requests do not count', [COUNTED, ' + Math.min(this.older, this.allowed)', '']),
  rule('waited-before', 'requests from before the queue in service do not count', [
    COUNTED,
    'this.#waitedBefore = this.inService - this.#backlog',
    'this.#waitedBefore = 0',
  ]),
  rule('starvation', 'all that happens where far fewer leave than could', [
    STARVATION,
    "waits && this.#pace < starved * rate ? 'starved' : 'fed'",
    "'fed'",
  ]),
  rule('starvation-trial', 'more let in as a trial where far fewer leave than could', [
    STARVATION,
    'if (nowMs >= this.#pausedUntil)',
    'if (nowMs < 0)',
  ]),
  rule('starvation-pause', 'a pause after a trial that failed', [
    STARVATION,
    'this.#pausedUntil = nowMs + this.#pauseMs',
    'this.#pausedUntil = nowMs',
  ]),
  rule('new-usual', 'after several trials that failed, what leaves now is usual', [
    STARVATION,
    'return Math.max(this.#pace, rate / 2)',
    'return rate',
  ]),
  rule('quick-kinds', 'quick kinds pass by a limit that others filled', [
    TIMES,
    'this.#answered[kind]! >= QUICK_OF',
    'this.#answered[kind]! < 0',
  ]),
  rule('quick-share', 'they also do so in a small share of a busy loop', [
    GATE,
    'return this.#passingMs > 0 && this.#queue.mayOvertake(kind, nowMs)',
    'return false',
  ]),
  rule('permit-to-end', 'a permit lasts as long as the handler, also without a client', [
    SIMULATED,
    "request.state = 'left'\n      this.#abandoned.add(request, this.loop.nowMs)",
    'this.#drop(request)',
  ]),
  rule('presumed-over', 'such a handler is treated as finished after a while', [
    ABANDONED,
    '    this.#acceptEnds(nowMs)\n    const over',
    '    this.#acceptEnds(nowMs)\n    if (nowMs >= 0) return []\n    const over',
  ]),
]

const QUEUE_RULES = [
  rule(
    'turn-budget',
    'the turn budget',
    [GATE, 'return ranFor >= this.#tuning.turnBudgetMs', 'return ranFor < 0'],
    [GATE, 'const until = nowMs + Math.max(', 'const until = Number.POSITIVE_INFINITY + Math.max('],
  ),
  rule('turn-others', 'a longer turn budget beside other work of the process', [
    GATE,
    'const idleMs = this.inflight === 0 ?',
    'const idleMs = nowMs < 0 ?',
  ]),
  rule('newest-first', 'newest first while the queue stands', [
    QUEUE,
    "newest ? 'newest' : 'oldest'",
    "newest ? 'oldest' : 'oldest'",
  ]),
  rule('on-arrival', 'sheds on arrival while the queue stands', [
    QUEUE,
    'nowMs - this.#lastKeptAt[priorityClass]! < this.#pace.gapMs * this.#tuning.freshGaps',
    'nowMs < 0',
  ]),
  rule('remembered', 'less backlog is tolerated once a queue has stood', [
    QUEUE,
    'stood ? tuning.drainsAgain : tuning.drains',
    'tuning.drains',
  ]),
  rule('service-tolerated', 'less backlog is tolerated where service takes longer', [
    QUEUE,
    'drainsMs - Math.max(0, serviceMs - shortMs)',
    'drainsMs',
  ]),
  rule('slight', 'in a slight overload the backlog is reduced in order', [
    QUEUE,
    'this.#reduces = this.#cutoff === undefined &&',
    'this.#reduces = nowMs < 0 &&',
  ]),
  rule(
    'suspected-waits',
    'no overload while a limit is only suspected',
    [QUEUE, 'if (this.#limiter.searching) return false\n', ''],
    [QUEUE, 'this.#limiter.searching || backlogMs', 'backlogMs'],
  ),
  rule('excess', 'requests in service above the limit count as waiting', [
    QUEUE,
    'return this.waiting.size + (this.#limiter.excess ?? 0)',
    'return this.waiting.size',
  ]),
  rule('few-wait-on', 'up to 64 wait until their clients leave', [
    QUEUE,
    'return this.#limiter.isProgressing?.(nowMs) === true',
    'return false',
  ]),
  rule('goes-on', 'they do so only while the service goes on', [
    QUEUE,
    'return this.#limiter.isProgressing?.(nowMs) === true',
    'return true',
  ]),
  rule('few-newest', 'newest first while one of them has waited for two seconds', [
    QUEUE,
    ' || this.#someExceedLongestWait(nowMs)',
    '',
  ]),
  rule('few-overtaken', 'one of them that 64 have overtaken is shed', [
    QUEUE,
    ' || this.#overtakes - overtakesThen! >= few',
    '',
  ]),
  rule('few-slow', 'in a standing queue they wait on where service is slow', [
    QUEUE,
    'return this.#tuning.few * this.#pace.gapMs > this.#tuning.maxWaitMs',
    'return this.size < 0',
  ]),
  rule('gets-faster', 'no overload while the service gets faster', [
    PACE,
    'return this.#fasterInARow >=',
    'return this.#fasterInARow < 0 && this.#fasterInARow >=',
  ]),
  rule('stalls', 'long gaps between departures are stalls', [
    PACE,
    'nowMs - this.#lastStallAt > stallEveryMs',
    'nowMs < 0',
  ]),
  rule('turn-pace', 'while the limit has room, the pace is that of starts, not of departures', [
    QUEUE,
    'if (this.isBound) this.#pace',
    'this.#pace',
  ]),
  rule('hopeless', 'a hopeless backlog that does not drain counts at once', [
    QUEUE,
    'return this.#backlogMs > times * this.#tuning.maxWaitMs',
    'return nowMs < 0 && this.#backlogMs > times * this.#tuning.maxWaitMs',
  ]),
  rule('kept-longer', 'the last few in a standing queue are kept longer', [
    QUEUE,
    'stale * keptLonger : stale',
    'stale : stale',
  ]),
  rule('empty', 'a queue that is empty for a moment still stands', [
    QUEUE,
    'const isNew = nowMs - this.#emptySince > this.#tuning.restMs',
    'const isNew = nowMs >= this.#emptySince',
  ]),
  rule('fair-shares', 'fair shares between kinds', [
    SIMULATED,
    'kind: workload.kinds === undefined ? undefined :',
    'kind: 1 > 0 ? undefined :',
  ]),
  rule('fair-clients', 'fair shares between clients', [
    SIMULATED,
    'client: workload.kinds?.[0]?.client === undefined ? undefined :',
    'client: 1 > 0 ? undefined :',
  ]),
  rule('kind-growth', 'a kind beyond its usual rate counts as unknown', [
    'fairness/known-kinds.ts',
    'return this.#arrived[kind]! < this.#most[kind]! ? kind : UNKNOWN',
    'return kind',
  ]),
]

export const RULES: readonly Rule[] = [...EVIDENCE, ...LOOP_RULES, ...SEARCH, ...COUNTING, ...QUEUE_RULES]

export interface Constant {
  readonly name: string
  readonly shipped: string
  /** In order, including the shipped value. */
  readonly values: readonly string[]
  /** The comment above its declaration. */
  readonly reason: string
  editFor(value: string): Edit
}

/** File of the value and of the comment; then each constant with the values to compare with the shipped one. */
const VALUES: readonly (readonly [file: string, declared: string, Readonly<Record<string, readonly number[]>>])[] = [
  [
    TUNING,
    TUNING,
    {
      max: [1000, 100_000],
      promiseMs: [500, 2000],
      forgetMs: [1000, 20_000],
      workMs: [50, 200],
      firstShare: [0.4, 0.8],
      fell: [0.7, 0.95],
      raised: [1.1, 1.5],
      countedSpans: [2, 5],
      leastCountedMs: [150, 600],
    },
  ],
  [
    TUNING,
    COHORTS,
    { cohort: [4, 10], apart: [1.1, 1.5], shows: [0.3, 0.8], matters: [0, 0.1], standardErrors: [2, 4] },
  ],
  [TUNING, USUAL_TIMES, { busyForMs: [50, 200], loopWorkMs: [25, 100] }],
  [
    TUNING,
    LOOP,
    {
      loopBusy: [0.8, 0.97],
      busyWindowMs: [10, 40],
      fewest: [8, 32],
      lookMs: [4000, 60_000],
      grows: [1.25, 2],
    },
  ],
  [LOOP, LOOP, { HOLD_WINDOWS: [1, 4], HOLD_CPU: [0.1, 0.6] }],
  [TUNING, MEASUREMENT, { samples: [12, 48], leastWindowMs: [50, 200], maxWindowMs: [500, 2000] }],
  [TUNING, STARVATION, { starved: [0.4, 0.75], starvedOf: [12, 48], quietTrial: [2, 16] }],
  [
    TRIALS,
    TRIALS,
    {
      TRIAL: [2, 8],

      MIN_SERVICE_TIMES: [2, 5],
      MIN_MS: [200, 1000],
      MAX_REMAINING_SHARE: [0.3, 0.7],
      MAX_SLOWDOWN: [1.5, 3],
      MOST_DOUBLINGS: [0, 4],
    },
  ],
  [COHORTS, COHORTS, { LARGEST: [32, 128], LEVELS: [16, 128], FEWEST: [3, 5], MATTERS_IF_DELAYED: [0.25, 1] }],
  [
    LIMITER,
    LIMITER,
    {
      ANSWER_WEIGHT: [0.05, 0.3],
      RATE_WEIGHT: [0.1, 0.5],
      JUDGE_MS: [2, 20],
      SHORTEST_HOLD_MS: [10, 50],
      LATE_WORKS: [1, 2.5],
      MEASUREMENTS_BEFORE_RAISE: [2, 10],
      DRAINS: [0.25, 0.75],
      NO_QUEUE: [0.1, 0.5],
      HALT_MS: [1000, 6000],
      HALT_SERVICES: [2, 8],
      HALT_OF: [32, 128],
      QUIET_MS: [200, 800],
      QUIET_SERVICES: [1, 4],
    },
  ],
  [AFTER_HALT, AFTER_HALT, { HARDLY_ANY: [0.1, 0.5], AT_ONCE: [2, 8], SERVICE_TIMES: [1, 4] }],
  [MEASUREMENT, MEASUREMENT, { BOUND: [0.25, 0.8] }],
  [STARVATION, STARVATION, { HEADROOM: [1.1, 2], LONGEST_PAUSE_WINDOWS: [2, 8], LONGEST_WINDOW_MS: [2000, 20_000] }],
  [USUAL, USUAL, { FORGOTTEN: [0.03, 0.3] }],
  [COUNTED, COUNTED, { LONGEST_BACKLOG_MS: [3500, 8000] }],
  [STARTS, STARTS, { SLOT_MS: [20, 80], SLOTS: [200, 800] }],
  [
    TIMES,
    TIMES,
    { DEVIATIONS: [1, 4], QUICK_MS: [5, 20], QUICK_OF: [8, 32], MOST_SLOW: [0.005, 0.05], SLOW_WEIGHT: [0.005, 0.05] },
  ],
  [ABANDONED, ABANDONED, { TIMES: [1.5, 3], FIRST_PROBE_MS: [250, 1000], FIRST_DOUBT_MS: [500, 2000] }],
  [
    QUEUE,
    QUEUE,
    {
      intervalMs: [50, 200],
      drains: [0.35, 0.9],
      drainsAgain: [0.1, 0.5],
      rememberMs: [2000, 40_000],
      restMs: [100, 400],
      maxWaitMs: [1000, 4000],
      staleMs: [0, 160],
      staleDepartures: [3, 20],
      keptLonger: [2, 6],
      freshGaps: [0.1, 0.6],
      intervalsToStand: [3, 8],
      intervalsToStandAgain: [1, 4],
      maxQueued: [4096, 65_536],
      few: [16, 256],
      HOPELESS_IF_FASTER: [1, 3],
      HOPELESS_IF_UNSURE: [1.5, 10],
      DRAINING: [0, 0.9],
      DRAIN_DEPARTURES: [2, 32],
      SLIGHT: [0.05, 0.5],
      REDUCED_BY: [0.02, 0.2],
      SHORT: [0.03, 0.3],
      MOST_EXPIRED: [128, 4096],
    },
  ],
  [
    PACE,
    PACE,
    {
      DEPARTURES_COUNTED: [4, 16],
      STALL_GAPS: [8, 50],
      STALL_EVERY_MS: [200, 1500],
      FIRST_STALL_EVERY_MS: [1000, 9000],
      FASTER: [0.9, 1],
      FASTER_IN_A_ROW: [1, 3],
      SURE: [1, 5],
    },
  ],
  [GATE, GATE, { turnBudgetMs: [4, 30], ASK_TURN_AFTER: [0.1, 0.5] }],
]

/** Reasons for constants without a comment of their own. */
const REASONS: Readonly<Record<string, string>> = {
  grows: 'What is raised, or tried above, is multiplied by this.',
  leastCountedMs: 'A request counts for at least this long, ms.',
  SLOT_MS: 'Starts are counted in slots of this length, ms,',
  SLOTS: 'and this many slots are remembered.',
  DEVIATIONS: 'A kind usually takes its mean and this many mean deviations.',
  maxQueued: 'Requests that may wait, at most.',
}

export const CONSTANTS: readonly Constant[] = VALUES.flatMap(([file, declared, constants]) =>
  Object.entries(constants).map(([name, others]) => constantIn(file, declared, name, others)),
)

function constantIn(file: string, declared: string, name: string, others: readonly number[]): Constant {
  const read = (each: string): string => readFileSync(join(admission, each.replace('admission/', '')), 'utf8')
  const [find, before, shipped] =
    new RegExp(`(?<=\\n)(?<before>(?:export )?const ${name} = |  ${name}: )(?<shipped>[\\d._]+(?: / \\d+)?)`).exec(
      read(file),
    ) ?? []
  if (find === undefined || shipped === undefined) throw new Error(`${file} has no constant ${name}`)
  const [over = 0, under = 1] = shipped.replaceAll('_', '').split(' / ').map(Number)
  const ships = String(over / under)
  return {
    name,
    shipped: ships,
    values: [...others, Number(ships)].sort((a, b) => a - b).map(String),
    reason: REASONS[name] ?? commentOf(name, read(declared)),
    editFor: value => ({ file, find, put: `${before}${value}` }),
  }
}

/** Several constants in a row may share the comment above the first. */
function commentOf(name: string, source: string): string {
  const declaration = `(?:(?:(?:export )?const \\w+ = .*\\n)*(?:export )?const ${name} =|  (?:readonly )?${name}:)`
  const [, comment = ''] = new RegExp(`/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n${declaration}`).exec(source) ?? []
  return comment
    .replace(/\s*\n\s*\*\s*/g, ' ')
    .replace(/\{@link (\w+)\}/g, '`$1`')
    .trim()
}
