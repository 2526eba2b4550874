/** The domino effect: one slow leaf of ten, and how far up its slowness spreads. */
import { formatPercent } from '../report/format.ts'
import type { ScenarioArm } from '../report/result.ts'
import { armVariable } from './arm-variable.ts'
import { type Scenario, scenario } from '../experiment/scenario.ts'
import {
  blankSick,
  goodByArm,
  judgeGoodput,
  measureSick,
  sampledLines,
  sayOfThree,
  type SickMeasured,
  sickView,
} from './sick-part.ts'

/** The time limits for waiting people (top tier) and between systems. Both are the article's own advice. */
const peopleMs = 3000
const systemsMs = 10_000
/** The slow leaf gets 6/s. They fill the pool if each takes 6.7 s: people's limit prevents that, systems' does not. */
const rate = 60
const pool = 40

const arms: readonly ScenarioArm[] = [
  { name: 'bare', kind: 'bare', what: 'no limits; each tier calls the next through a pool of 40 connections' },
  {
    name: 'naive timeout',
    kind: 'also',
    what: 'the same with a timeout of 3 s in the top tier and of 10 s between the others, each tier for itself',
  },
  {
    name: 'meltproof',
    kind: 'protected',
    what: 'the same limits through install() and protect(server, { deadlineMs }); what is left of the 3 s is told to the tier below, and work ends when the caller has left',
  },
]

/** The minimum number of leaves in the balancer's rotation. */
function leastMembers({ runs }: SickMeasured): number | undefined {
  const kept = runs.flatMap(run => run.sampled['members'] ?? []).map(each => each.value)
  return kept.length === 0 ? undefined : Math.min(...kept)
}

export const domino: Scenario<unknown> = scenario<SickMeasured>({
  name: 'domino',
  title: 'The domino effect',
  story:
    'Three tiers, ten leaves behind a balancer, one of them slow but passing its health check: how far up it goes.',
  published: [
    { what: 'the domino effect', value: 'one slow member of a pool of ten drags every tier above it', ours: goodByArm },
    {
      what: 'the health check',
      value: 'still says 200, late, so that the balancer keeps the sick member',
      ours: measured => {
        const least = leastMembers(measured)
        return least === undefined ? undefined : `never fewer than ${least} of 10 members in rotation`
      },
    },
    {
      what: 'reasonable limits',
      value: '10 to 20 s between systems, 3 s for people',
      ours: () => 'advice, and followed: 10 s between systems, 3 s for people',
    },
  ],
  arms,
  expects: [
    {
      name: 'the balancer keeps the wonky leaf all the time: its health check is late, but 200',
      needsQuiet: false,
      judge: measured => {
        const least = leastMembers(measured)
        if (least === undefined) return undefined
        return { pass: least === 10, measured: `never fewer than ${least} of 10 in rotation` }
      },
    },
    {
      name: 'bare: one leaf of ten takes far more than a tenth of the top tier’s goodput',
      judge: judgeGoodput('bare', goodput => goodput < 0.6),
    },
    {
      name: 'naive timeouts: limits that do not know of each other do not stop it',
      judge: judgeGoodput('naive timeout', goodput => goodput < 0.8),
    },
    {
      name: 'meltproof: the top tier keeps at least 85 % goodput',
      judge: judgeGoodput('meltproof', goodput => goodput >= 0.85),
    },
  ],
  blank: blankSick,

  async run(context, measured) {
    measured.rate = rate
    measured.limitMs = peopleMs
    measured.sloMs = 1000
    measured.patienceMs = context.pick({ brief: 4000, quick: 10_000, full: 30_000 })
    const durationMs = context.pick({ brief: 3000, quick: 20_000, full: 120_000 })
    for (const arm of arms) {
      const leaves = await context.start({
        name: 'the leaves',
        run: 'leaves.js',
        core: 'dependency',
        env: { COUNT: '10' },
      })
      const origins = await leaves.ask<string[]>('/')
      const balancer = await context.start({
        name: 'the balancer',
        run: 'balancer.js',
        core: 'dependency',
        env: { MEMBERS: origins.join(',') },
      })
      const tier = (name: string, next: string, limitMs: number) =>
        context.start({
          name,
          run: 'tier.js',
          core: 'server',
          env: { ARM: armVariable(arm.name), NEXT: next, POOL: String(pool), LIMIT_MS: String(limitMs) },
        })
      const middle = await tier('the middle tier', balancer.origin, systemsMs)
      const top = await tier('the top tier', middle.origin, peopleMs)
      await measureSick(context, measured, {
        arm: arm.name,
        service: top,
        durationMs,
        read: {
          middle: async () => (await middle.ask<{ waiting: number }>('/lab/waiting')).waiting,
          members: async () =>
            (await balancer.ask<{ healthy: boolean }[]>('/lab/members')).filter(each => each.healthy).length,
        },
      })
      for (const app of [top, middle, balancer, leaves]) await app.stop()
    }
  },

  view: measured =>
    sickView(measured, arms, {
      claim: 'good answers',
      finding: sayOfThree(
        measured,
        (bare, naive, ours) =>
          `One wonky leaf of ten leaves the top tier ${formatPercent(bare.goodput)} goodput bare, ${formatPercent(naive.goodput)} with timeouts in each tier, and ${formatPercent(ours.goodput)} with deadlines that the tiers share.`,
      ),
      plots: [sampledLines(measured.runs, 'middle', 'Calls of the middle tier that wait', 'calls')],
    }),
})
