/**
 * The steps of `npm run figures`, in this order: the script, the results and pages it makes, its duration, and the
 * programs it needs. Data only: bench/figures/plan.ts selects the steps, and bench/figures/run-steps.ts runs them.
 */

export interface Step {
  readonly name: string
  /** Shell commands, run in the root of the repository. Each runs only if the one before succeeded. */
  readonly run: readonly string[]
  /** Files that the step writes, relative to the root. */
  readonly results: readonly string[]
  /** Pages and pictures that the step, or the step `pages`, makes from these results. */
  readonly pages: readonly string[]
  /** Handwritten pages that quote these results and need review. */
  readonly quotedBy?: readonly string[]
  /** Estimated minutes on two cores. After the first whole run, runs/figures/state.json has the time of each step. */
  readonly minutes: number
  /** Alternating rounds; missing if the script has no rounds, or the clock is virtual. */
  readonly rounds?: number
  /** The step uses virtual time or measures nothing, so the machine may be busy. */
  readonly untimed?: true
  /** Programs that the step requires. */
  readonly needs?: readonly string[]
  /**
   * Files from which a stopped run resumes. They are removed before the step's first run at a commit, because they may
   * belong to an earlier one.
   */
  readonly leftovers?: readonly string[]
  /** Runs in every run, because it prepares the other steps or uses their results. */
  readonly always?: true
  /** Why the step is omitted unless `--all` or `--only` selects it. */
  readonly whyExcluded?: string
}

const json = (...names: readonly string[]): readonly string[] => names.map(name => `bench/results/${name}.json`)
const README = ['README.md', 'README.zh-CN.md']
const COSTS = ['docs/costs.md']
const PARTS = ['docs/benchmarks.md']

/** A script of bench/, whose result file has the same name. */
function bench(
  name: string,
  options: string,
  [minutes, rounds]: readonly [number, number],
  pages: readonly string[],
  more: Partial<Step> = {},
): Step {
  const run = [`node --no-warnings bench/${name}.ts ${options}`.trim()]
  return { name, run, results: json(name), pages, minutes, rounds, ...more }
}

/** Experiments whose published figures come from their full form. */
const FULL = ['burst', 'burst-fresh', 'timeouts']
/** Minutes of each experiment. */
const EXPERIMENTS: Readonly<Record<string, number>> = {
  ...{ burst: 5.6, 'burst-fresh': 3.4, timeouts: 12.3, logging: 4.2, ticks: 2.5, blame: 1.4, tide: 3, domino: 1.7 },
  ...{ drip: 1.4, blackhole: 1, database: 1.4, door: 1.6, fleet: 4.2, 'fleet-cpu': 4.2 },
}

function experiment([name, minutes]: readonly [string, number]): Step {
  const asked = `${name}${FULL.includes(name) ? ' --full' : ''}`
  return {
    name: `experiment-${name}`,
    // Exit code 3 means that an expectation was not met. The page names it.
    run: [
      `node packages/lab/dist/cli.js run ${asked} --keep runs/figures || [ $? = 3 ]`,
      `cp runs/figures/${name}.json bench/results/experiments/`,
    ],
    results: json(`experiments/${name}`),
    pages: ['docs/experiments.md', `docs/experiments/${name}.md`, `docs/images/experiment-${name}.svg`],
    quotedBy: ['burst', 'tide'].includes(name) ? README : [],
    needs: ['door', 'fleet', 'fleet-cpu'].includes(name) ? ['haproxy'] : [],
    minutes,
    leftovers: [`runs/figures/${name}.json`, `runs/figures/${name}.json.part`],
  }
}

/**
 * Minutes with eight arms and three rounds, and loads as multiples of the capacity. Some workloads have their own
 * loads. Each has a load below the capacity, which shows false sheds.
 */
const OVERLOAD: Readonly<Record<string, readonly [minutes: number, loads?: string]>> = {
  ...{ steps: [20, '0.7,0.9,1,2,10,100'], 'steps-fresh': [7.5, '0.9,10'], tail: [15, '0.9,10'], sync: [7.5, '0.9,10'] },
  ...{ database: [7.5, '0.9,10'], pool: [7.5, '0.9,10'], mixed: [7.5, '0.9,10'], render: [7.5, '0.9,10'] },
  ...{ neighbour: [7.5, '0.9,10'], 'random-paths': [7.5, '0.9,10'], impatient: [7.5, '0.9,10'] },
  ...{ quick: [16.5], waiting: [15.5], stalls: [10], outage: [19], forged: [10] },
}

function overload([name, [minutes, loads]]: readonly [string, readonly [minutes: number, loads?: string]]): Step {
  const [workload, mode] = name.endsWith('-fresh') ? [name.replace('-fresh', ''), 'fresh'] : [name, 'standing']
  const asked = `--workload ${workload} --modes ${mode}${loads === undefined ? '' : ` --loads ${loads}`} --rounds 3`
  const pages = [`docs/scoreboard/overload-${name}.md`, `docs/images/experiment-overload-${name}.svg`]
  return bench('overload', asked, [minutes, 3], ['docs/scoreboard.md', ...pages], {
    name: `overload-${name}`,
    results: json(`overload/overload-${name}`),
    needs: ['haproxy'],
    whyExcluded: 'the scoreboard takes about three hours by itself: npm run figures -- --only scoreboard',
    quotedBy: [...README, 'docs/alternatives.md'],
    leftovers: [`runs/overload/overload-${name}.json`, `runs/overload/overload-${name}.json.part`],
  })
}

const LANES = 'runs/figures/accept-lanes.txt'
const VIRTUAL = {
  untimed: true,
  whyExcluded: 'virtual time: any machine gives the same figures, even a busy one',
} as const
const ALWAYS = { results: [], untimed: true, always: true } as const

export const STEPS: readonly Step[] = [
  { name: 'build', run: ['npm run --silent build'], pages: [], minutes: 1, ...ALWAYS },
  bench('shed-cost', '--rounds 3', [1.6, 3], COSTS, { quotedBy: README }),
  bench('shed-cost-grpc', '--rounds 3', [1, 3], COSTS),
  bench('overhead', '--rounds 3 --seconds 10', [2, 3], COSTS, { quotedBy: README }),
  bench('accept-lanes', `--lanes 1,16 --seconds 2 > ${LANES} && cp ${LANES} bench/results/`, [2, 3], PARTS, {
    results: ['bench/results/accept-lanes.txt'],
    quotedBy: README,
  }),
  bench('observed', '--seconds 60 --idle-rounds 3', [4, 3], COSTS, { quotedBy: README }),
  bench('start', '', [0.5, 9], COSTS, { quotedBy: README }),
  bench('low-rate', '', [6, 30], ['docs/fleet.md']),
  bench('deadline', '--rounds 3', [2, 3], COSTS),
  bench('outbound', '', [6, 20], ['docs/benchmarks-outbound.md', ...COSTS], { needs: ['redis-server'] }),
  bench('adaptive', '', [7, 3], ['docs/benchmarks-adaptive.md']),
  bench('generator', '', [3, 3], ['docs/generator.md']),
  bench('load-tools', '', [3, 3], ['docs/generator.md']),
  ...Object.entries(EXPERIMENTS).map(experiment),
  ...Object.entries(OVERLOAD).map(overload),
  bench('evidence', '--quick --rounds 3 --write', [18, 3], [], { quotedBy: [...README, 'docs/admission.md'] }),
  {
    name: 'fleet',
    run: ['npm run --silent bench:fleet'],
    results: json('fleet'),
    pages: ['docs/fleet-figures.md', 'docs/images/fleet-*.svg'],
    quotedBy: ['docs/fleet.md'],
    minutes: 14,
    ...VIRTUAL,
  },
  {
    name: 'yardsticks',
    run: ['node bench/admission-held-out.ts --write'],
    results: json('admission-yardsticks'),
    pages: ['docs/admission-yardsticks.md'],
    quotedBy: ['docs/admission-results.md'],
    minutes: 3,
    ...VIRTUAL,
  },
  {
    name: 'curves',
    run: ['npm run --silent bench:admission', 'node bench/admission-picture.ts'],
    results: json('admission'),
    pages: ['docs/admission-curves.md', 'docs/images/admission.svg'],
    minutes: 20,
    ...VIRTUAL,
  },
  {
    name: 'apps',
    run: ['npm run --silent apps'],
    results: ['apps/results/*.json'],
    pages: ['docs/apps.md'],
    quotedBy: README,
    minutes: 40,
    whyExcluded: 'it checks apps, which it installs from the npm registry',
  },
  {
    name: 'recovery',
    // Exit code 3 means that a protected app did not recover in time. The page names it.
    run: ['node --no-warnings bench/recovery.ts || [ $? = 3 ]'],
    results: json('recovery'),
    pages: ['docs/recovery.md'],
    quotedBy: ['docs/faq.md'],
    minutes: 25,
    whyExcluded: 'it loads apps, which it installs from the npm registry',
  },
  {
    name: 'culprit',
    // Exit code 3 means that a bar was missed. The page shows the figures and the bars.
    run: ['', ' --costs'].map(way => `node --no-warnings bench/culprit.ts${way} || [ $? = 3 ]`),
    results: json('culprit'),
    pages: ['docs/culprit.md'],
    minutes: 20,
    whyExcluded: 'its 20 minutes would extend a run to two hours',
  },
  {
    name: 'audit-planted',
    run: ['node --no-warnings bench/audit-planted.ts || [ $? = 3 ]'],
    results: json('audit-planted'),
    pages: [],
    minutes: 10,
    whyExcluded: 'it is about meltlab audit, not about the runtime',
  },
  {
    name: 'memory-cgroup',
    run: ['node --no-warnings bench/memory-cgroup.ts || [ $? = 3 ]'],
    results: json('memory-cgroup'),
    pages: ['docs/memory.md'],
    minutes: 130,
    rounds: 20,
    whyExcluded: 'it needs root and a memory cgroup, and takes two hours',
  },
  {
    name: 'pages',
    run: ['npm run --silent experiments:page', 'node --no-warnings bench/overload.ts --report'].concat(
      ['write-docs', 'write-generator', 'readme-picture'].map(name => `node --no-warnings bench/${name}.ts`),
    ),
    pages: ['docs/images/readme.svg'],
    minutes: 0.5,
    ...ALWAYS,
  },
]

/** Published results that no step makes, and why. */
export const BY_HAND: Readonly<Record<string, string>> = {
  'runtimes.txt': 'compares copies of the source that lack a part, cut out by hand',
  'drain.txt': 'node bench/drain.ts prints it',
  'compare.txt': 'node bench/compare.ts prints it; the machines are simulated',
  'rolling-restarts.txt': 'takes hours, and needs HAProxy and Envoy',
  'cpu-quota.json': 'needs root and a CPU cgroup; docs/fleet.md has figures of other commits, too',
  'interval-truth.json': 'needs vegeta',
  'npm-verdicts.json': 'needs vegeta and wrk, apps from npm, and a person to judge',
  'report-opening.json': 'not about the runtime',
  'mutations.json': 'npm run mutations writes it; it measures the unit tests, not the runtime',
  'node-suite.json': 'needs a checkout of nodejs/node',
  'peer-suites-outbound.json': 'needs checkouts of ws and undici',
  'evidence-before.json': 'was measured with the previous limiter',
  'admission-yardsticks-before.json': 'was measured with the previous limiter',
}
