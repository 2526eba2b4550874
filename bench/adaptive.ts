/**
 * Measures a dependency that is overloaded or fails, and its callers: bare, with a circuit breaker (opossum), and with
 * `adaptive: true`.
 *
 *   node bench/adaptive.ts [--rounds 3] [--only melts,...]
 *
 * The dependency has a pool of 10 connections, each of which answers in 50 ms: 200 answers/s. Its callers wait for 1 s
 * at most. Each run is 2 s of 100 calls/s, 5 s of trouble, and 4 s of 100 calls/s. Goodput: good answers per second
 * during the trouble. Recovery: time from the end of the trouble until there are good answers to 90 % of the calls in
 * a window of 500 ms. Calls: how many reached the dependency during the trouble. The limiter was developed with the
 * results of `melts`; the other cases were written before they were first run. The script also measures origins that
 * refuse excess calls (lib/refusing.ts), and compares several fixed limits.
 *
 * With --only, the stored results of the other cases stay. Writes bench/results/adaptive.json and
 * docs/benchmarks-adaptive.md.
 */
import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { median } from '../packages/lab/src/melt/summary.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions, spreadOf } from './lib/conditions.ts'
import { measureRefusing, REFUSING, type RefusingResult, refusingSection } from './lib/refusing.ts'

const ARMS = ['bare', 'opossum', 'adaptive'] as const
const WARM_S = 2
const TROUBLE_S = 5
const AFTER_S = 4
const NOT_RECOVERED = AFTER_S * 1000
const CALM_RATE = 100

interface Trouble {
  readonly what: string
  /** Calls per second during the trouble. */
  readonly rate: number
  readonly happens: (tell: (order: object) => void) => Promise<void>
}

const waitOut = (): Promise<void> => sleep(TROUBLE_S * 1000)

/** Sends `order` to the dependency when the trouble begins, and `before`, which undoes it, when the trouble ends. */
const troubled =
  (order: object, before: object): Trouble['happens'] =>
  async tell => {
    tell(order)
    await waitOut()
    tell(before)
  }

const TROUBLES: Readonly<Record<string, Trouble>> = {
  melts: { what: 'called three times as often as it can answer', rate: 600, happens: waitOut },
  'slow start': {
    what: 'called with 150/s; dead for 1 s, then a pool of 2, one more each 0.5 s',
    rate: 150,
    async happens(tell) {
      tell({ way: 'refuses' })
      await sleep(1000)
      tell({ way: 'works' })
      for (let size = 2; size <= 10; size++) {
        tell({ size })
        await sleep(500)
      }
    },
  },
  flapping: {
    what: 'called with 150/s; refuses for 0.5 s of each second',
    rate: 150,
    async happens(tell) {
      for (let second = 0; second < TROUBLE_S; second++) {
        tell({ way: 'refuses' })
        await sleep(500)
        tell({ way: 'works' })
        await sleep(500)
      }
    },
  },
  'slow 1 %': {
    what: 'called with 150/s; one answer in a hundred takes 5 s',
    rate: 150,
    happens: troubled({ slowShare: 0.01 }, { slowShare: 0 }),
  },
  'half fails': {
    what: 'called with 150/s; refuses half of them at random',
    rate: 150,
    happens: troubled({ way: 'half' }, { way: 'works' }),
  },
  hangs: {
    what: 'called with 150/s; answers nothing',
    rate: 150,
    happens: troubled({ way: 'hangs' }, { way: 'works' }),
  },
}

interface Result {
  readonly goodput: number
  /** {@link NOT_RECOVERED} if there was no recovery within AFTER_S. */
  readonly recoveryMs: number
  readonly calls: number
}

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '3' },
  only: { type: 'string' },
})
const rounds = options.whole('rounds')
const lib = join(import.meta.dirname, 'lib')
const file = join(import.meta.dirname, 'results/adaptive.json')
interface Kept {
  readonly results: Record<string, Record<string, Result>>
  readonly refusing?: Record<string, RefusingResult>
}
const kept: Kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Kept) : { results: {} }
const { results, refusing = {} } = kept
for (const name of options.chosen('only', [...Object.keys(TROUBLES), ...REFUSING])) {
  if (REFUSING.includes(name)) {
    refusing[name] = await measureRefusing(name, rounds)
    continue
  }
  const found: Record<string, Result[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const arm of ARMS) {
      const result = await measured(arm, TROUBLES[name]!)
      found[arm] = [...(found[arm] ?? []), result]
      console.log(name, arm, JSON.stringify(result))
    }
  }
  results[name] = Object.fromEntries(
    Object.entries(found).map(([arm, all]) => [
      arm,
      { ...medians(all), goodputSpread: spreadOf(all.map(({ goodput }) => goodput)) },
    ]),
  )
}
writeFileSync(file, `${JSON.stringify({ ...conditions(), rounds, results, refusing }, undefined, 2)}\n`)
writeFileSync(join(import.meta.dirname, '../docs/benchmarks-adaptive.md'), page())

async function measured(arm: string, { rate, happens }: Trouble): Promise<Result> {
  const dependency = fork(join(lib, 'adaptive-dependency.mjs'))
  try {
    const [{ port }] = (await once(dependency, 'message')) as [{ port: number }]
    const plan = JSON.stringify([
      [WARM_S, CALM_RATE],
      [TROUBLE_S, rate],
      [AFTER_S, CALM_RATE],
    ])
    const caller = join(lib, 'adaptive-caller.mjs')
    const calls = promisify(execFile)(process.execPath, [caller, arm, `http://127.0.0.1:${port}/`, plan], {
      maxBuffer: 1 << 26,
    })
    await sleep(WARM_S * 1000)
    const before = await count(dependency)
    await happens(order => void dependency.send(order))
    const during = (await count(dependency)) - before
    return { ...judged(JSON.parse((await calls).stdout) as number[]), calls: during }
  } finally {
    dependency.kill()
  }
}

async function count(dependency: ChildProcess): Promise<number> {
  dependency.send('count')
  const [{ came }] = (await once(dependency, 'message')) as [{ came: number }]
  return came
}

function judged(good: readonly number[]): Pick<Result, 'goodput' | 'recoveryMs'> {
  const between = (fromMs: number, toMs: number): number => good.filter(ms => ms >= fromMs && ms < toMs).length
  const fromMs = WARM_S * 1000
  const endMs = fromMs + TROUBLE_S * 1000
  const wanted = (0.9 * CALM_RATE * 500) / 1000
  let recoveryMs = NOT_RECOVERED
  for (let ms = 0; ms + 500 <= AFTER_S * 1000 && recoveryMs === NOT_RECOVERED; ms += 100) {
    if (between(endMs + ms, endMs + ms + 500) >= wanted) recoveryMs = ms
  }
  return { goodput: between(fromMs, endMs) / TROUBLE_S, recoveryMs }
}

function medians(all: readonly Result[]): Result {
  const of = (read: (result: Result) => number): number => median(all.map(read))!
  return {
    goodput: of(({ goodput }) => goodput),
    recoveryMs: of(each => each.recoveryMs),
    calls: of(each => each.calls),
  }
}

function page(): string {
  const { date, node, cpu, cores, loadBefore } = conditions()
  const rows = Object.entries(results).flatMap(([name, arms]) =>
    ARMS.map(arm => {
      const { goodput, recoveryMs, calls } = arms[arm]!
      const recovered = recoveryMs === NOT_RECOVERED ? `not in ${AFTER_S} s` : `${recoveryMs / 1000} s`
      return `| ${name} | ${arm} | ${goodput.toFixed(0)}/s | ${recovered} | ${calls} |`
    }),
  )
  return `# A dependency that melts

Written by \`node bench/adaptive.ts\`; medians of ${rounds} rounds. ${date}, Node ${node}, ${cpu}, ${cores} cores, load ${loadBefore}.

A dependency with a pool of 10 connections of 50 ms: 200 answers/s. It also works on calls that its callers have
given up. They wait for 1 s at most, make 100 calls/s for ${WARM_S} s, then the trouble lasts for ${TROUBLE_S} s, then 100 calls/s again.
\`adaptive\` is \`install({ adaptive: true, totalMs: 1000 })\`, \`opossum\` its defaults with a timeout and a reset of 1 s.

${Object.entries(results)
  .map(([name]) => `- **${name}**: ${TROUBLES[name]!.what}.`)
  .join('\n')}

\`melts\` was used during development. The others were written before they were first run. Two things were changed
after that: the pause between probes, because of \`flapping\` (19 answers/s then), and that a circuit needs 0.1 s of failures to
open, because of \`half fails\` (65 answers/s then).

| trouble | callers | good answers meanwhile | recovery | calls that reached it meanwhile |
| --- | --- | ---: | ---: | ---: |
${rows.join('\n')}

${refusingSection(refusing)}`
}
