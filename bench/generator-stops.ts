/**
 * Checks that a load generator that was stopped for a moment never certifies a latency that the stop caused. Two
 * hundred runs at four loads have one stop each, of 1 to 100 ms. They are compared with runs without a stop.
 *
 *   node bench/generator-stops.ts [stops]
 *
 * A certificate is wrong if a figure exceeds that of the worst run without a stop by more than a certificate allows.
 * Exit code 1 if a certificate is wrong, or if no run without a stop is certified. On a quiet machine most are.
 */
import { doubtedMs, FIGURES } from '../packages/lab/src/load/certify.ts'
import { seededRandom } from '../packages/lab/src/load/random.ts'
import { allowedCores, coresOf, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { StoppedGenerator, type StoppedCase, type StoppedRun } from './lib/stopped-generator.ts'

const DURATION_MS = 600
const CONTROLS = 6
const CASES: readonly StoppedCase[] = [
  // In order: a generator that sleeps between requests, one that stays awake, a server that is 80 % busy, a high rate.
  { rate: 100, workMs: 0, durationMs: DURATION_MS },
  { rate: 1000, workMs: 0.2, durationMs: DURATION_MS },
  { rate: 400, workMs: 2, durationMs: DURATION_MS },
  { rate: 5000, workMs: 0, durationMs: DURATION_MS },
]

const stops = Number(process.argv[2] ?? 200)
const random = seededRandom(1)
const cores = coresOf(allowedCores())
const generator = new StoppedGenerator(cores?.lab)
if (cores !== undefined) pinSelf(cores.server)

const ok = ({ certificate }: StoppedRun) => certificate.intervals.ok!
let wrong = 0
let sure = 0
for (const kind of CASES) {
  await generator.run(kind)
  const controls: StoppedRun[] = []
  for (let run = 0; run < CONTROLS; run++) controls.push(await generator.run(kind))
  const certified = controls.filter(run => run.certificate.code === 'certified').length
  sure += certified
  const tally = { certified: 0, refused: 0, wrong: 0 }
  for (let stop = 0; stop < stops / CASES.length; stop++) {
    const lengthMs = 1 + random() * 99
    const run = await generator.run(kind, { afterMs: random() * DURATION_MS * 0.7, lengthMs })
    if (run.certificate.code !== 'certified') {
      tally.refused++
      continue
    }
    tally.certified++
    const count = (kind.rate * DURATION_MS) / 1000
    const bad = FIGURES.flatMap(figure => {
      const { name } = figure
      const truth = Math.max(...controls.map(control => ok(control)[name][1]))
      const measured = ok(run)[name][1]
      return doubtedMs(figure, [truth, measured], count) > 0
        ? [`${name} ${measured.toFixed(2)}, truth ${truth.toFixed(2)}`]
        : []
    })
    if (bad.length > 0) {
      tally.wrong++
      console.log(`  wrong after a stop of ${lengthMs.toFixed(1)} ms: ${bad.join('; ')} ms`)
    }
  }
  wrong += tally.wrong
  console.log(
    `${kind.rate}/s, ${kind.workMs} ms of work: without a stop ${certified} of ${CONTROLS} certified; ` +
      `with one ${tally.refused} refused, ${tally.certified} certified, ${tally.wrong} of them wrong`,
  )
}
await generator.end()
console.log(`${wrong} wrong certificates`)
process.exitCode = wrong > 0 || sure === 0 ? 1 : 0
