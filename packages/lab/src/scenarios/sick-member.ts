/** Scenarios in which one of ten pool members is sick and the frontend calls them round robin: blackhole and drip. */
import { formatChosen, formatMs } from '../report/format.ts'
import { armVariable } from './arm-variable.ts'
import { expectation } from '../experiment/expectation.ts'
import { type AppSpec, type Expectation, type Scenario, scenario } from '../experiment/scenario.ts'
import {
  blankSick,
  longestMs,
  measureSick,
  runOf,
  sayOfThree,
  type SickMeasured,
  type SickRun,
  sickView,
  sumOf,
} from './sick-part.ts'

export interface SickMember extends Pick<Scenario<SickMeasured>, 'name' | 'title' | 'story' | 'arms'> {
  /** The article's name for the fault; the article gives no figure. */
  readonly named: string
  readonly sick: AppSpec
  /** JSON for install(), in addition to the total limit. */
  readonly limits: Readonly<Record<string, number>>
  /** With meltproof no user waits longer than this, ms: the limit that ends such a call. */
  readonly endsMs: number
  readonly limitMs: number
  /** The limit in the brief form, where users do not wait long. @default limitMs */
  readonly briefLimitMs?: number
  readonly names: RegExp
  readonly naiveHelps: boolean
}

/** A call may end this much later than its time limit, ms. */
const lateMs = 100
const members = 10
const answerMs = 20

export function sickMember(made: SickMember): Scenario<unknown> {
  const { name, title, story, arms } = made
  return scenario<SickMeasured>({
    name,
    title,
    story,
    published: [{ what: 'named in the timeouts article', value: made.named, ours: longestWaits }],
    arms,
    expects: expectations(made),
    blank: blankSick,
    async run(context, measured) {
      measured.rate = context.pick({ brief: 50, quick: 200, full: 500 })
      const { limitMs, briefLimitMs = limitMs } = made
      measured.limitMs = context.pick({ brief: briefLimitMs, quick: limitMs, full: limitMs })
      measured.sloMs = 1000
      measured.patienceMs = context.pick({ brief: 4500, quick: 12_000, full: 60_000 })
      const durationMs = context.pick({ brief: 1000, quick: 8000, full: 60_000 })
      const healthy = await context.start({
        name: 'the healthy members',
        run: 'slow-backend.js',
        core: 'dependency',
        env: { ANSWER_MS: String(answerMs) },
      })
      for (const arm of arms) {
        const sick = await context.start(made.sick)
        const service = await context.start({
          name: 'the frontend',
          run: 'relay.js',
          core: 'server',
          env: {
            ARM: armVariable(arm.name),
            BACKENDS: [...Array.from({ length: members - 1 }, () => healthy.origin), sick.origin].join(','),
            LIMIT_MS: String(measured.limitMs),
            LIMITS: JSON.stringify(made.limits),
          },
        })
        await measureSick(context, measured, { arm: arm.name, service, durationMs })
        await service.stop()
        await sick.stop()
      }
    },
    view: measured => sickView(measured, arms, { claim: 'longest wait', finding: finding(measured, made) }),
  })
}

const waits = (run: SickRun, patienceMs: number): string => {
  const ms = longestMs(run, patienceMs)
  return ms >= patienceMs ? `until they give up (${formatChosen(ms)})` : `${formatMs(ms)} at most`
}

const longestWaits = ({ runs, patienceMs }: SickMeasured): string | undefined =>
  runs.length === 0
    ? undefined
    : `a caller waits ${runs.map(run => `${waits(run, patienceMs)} (${run.arm})`).join(', ')}`

function finding(measured: SickMeasured, { title }: SickMember): string {
  const kept = (run: SickRun): string => waits(run, measured.patienceMs)
  return sayOfThree(
    measured,
    (bare, naive, ours) =>
      `${title}: bare, callers of the sick member wait ${kept(bare)}; with the usual timeout ${kept(naive)}; with meltproof ${kept(ours)}, and are told why.`,
  )
}

function expectations({ endsMs, names, naiveHelps }: SickMember): readonly Expectation<SickMeasured>[] {
  const gaveUp = (arm: string) => (measured: SickMeasured) => {
    const run = runOf(measured, arm)
    return run && sumOf(run.figures.failed)
  }
  const ours = (measured: SickMeasured): SickRun | undefined => runOf(measured, 'meltproof')
  return [
    expectation(
      'bare: callers of the sick member wait until they give up',
      gaveUp('bare'),
      gone => [gone > 0, `${gone} gave up`],
      { needsQuiet: false },
    ),
    expectation(
      naiveHelps
        ? 'naive timeout: nobody has to give up'
        : 'naive timeout: does not help, callers wait until they give up all the same',
      gaveUp('naive timeout'),
      gone => [gone > 0 !== naiveHelps, `${gone} gave up`],
      { needsQuiet: false },
    ),
    expectation(
      `meltproof: nobody is kept longer than ${formatChosen(endsMs)} and ${lateMs} ms`,
      ours,
      (run, { patienceMs }) => {
        const ms = longestMs(run, patienceMs)
        return [ms <= endsMs + answerMs + lateMs, `the longest ${formatMs(ms)}`]
      },
    ),
    expectation(
      'meltproof: every request got an answer, nine of ten a good one, and the error names the cause',
      ours,
      ({ figures, told }) => {
        const ok = figures.ok / Math.max(1, figures.scheduled)
        const without = figures.scheduled - sumOf(figures.answered)
        const named = told !== null && names.test(told)
        return [
          without === 0 && ok > 0.85 && ok < 0.95 && named,
          `${(ok * 100).toFixed(1)} % good, ${without} without an answer; "${told ?? 'nothing'}"`,
        ]
      },
      { needsQuiet: false },
    ),
  ]
}
