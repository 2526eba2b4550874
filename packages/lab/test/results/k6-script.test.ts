/** The script for k6 is a module with the options of the plan. (k6 is not installed; see its documentation.) */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { Arrival, LoadPlan } from '../../src/load/plan.ts'
import { k6Script } from '../../src/results/k6-script.ts'
import { constant, planFor } from '../load/plan-for.ts'

const script = (plan: Partial<LoadPlan> = {}): string =>
  k6Script(planFor('http://127.0.0.1:3000/a?b=c', { arrival: constant(50, 10_000), ...plan }))
const options = (text: string) => JSON.parse(/^export const options = (\{[\s\S]*?^\})$/m.exec(text)![1]!)
const load = (plan: Partial<LoadPlan>) => options(script(plan)).scenarios.load
const open = (...phases: Extract<Arrival, { kind: 'open' }>['schedule']['phases']): Partial<LoadPlan> => ({
  arrival: { kind: 'open', schedule: { phases, spacing: 'even', seed: 1 } },
})
const vus = { preAllocatedVUs: 10, maxVUs: 100, gracefulStop: '2000ms' }

for (const [what, plan, expected] of [
  ['a rate', {}, { executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s', duration: '10000ms', ...vus }],
  [
    'a rate below one a second',
    { arrival: constant(0.25, 60_000) },
    ...[{ executor: 'constant-arrival-rate', rate: 25, timeUnit: '100s', duration: '60000ms' }],
  ],
  [
    'a ramp',
    open({ kind: 'ramp', fromRate: 10, toRate: 50, durationMs: 5000 }),
    {
      ...{ executor: 'ramping-arrival-rate', startRate: 10, timeUnit: '1s' },
      stages: [{ target: 50, duration: '5000ms' }],
      ...vus,
    },
  ],
  [
    'steps',
    open({ kind: 'constant', rate: 10, durationMs: 1000 }, { kind: 'constant', rate: 50, durationMs: 2000 }),
    {
      ...{ executor: 'ramping-arrival-rate', startRate: 10, timeUnit: '1s' },
      stages: [
        { target: 10, duration: '1000ms' },
        { target: 50, duration: '0s' },
        { target: 50, duration: '2000ms' },
      ],
      ...vus,
    },
  ],
  [
    'users',
    { arrival: { kind: 'closed', users: 7, durationMs: 3000, thinkMs: 0 } },
    { executor: 'constant-vus', vus: 7, duration: '3000ms', gracefulStop: '2000ms' },
  ],
] as const satisfies readonly (readonly [string, Partial<LoadPlan>, object])[]) {
  test(`a plan with ${what} becomes the k6 executor ${expected.executor}`, () => {
    const scenario = load(plan)
    assert.deepEqual(
      'maxVUs' in expected || expected.executor === 'constant-vus' ? scenario : pick(scenario, expected),
      expected,
    )
  })
}

function pick(from: Readonly<Record<string, unknown>>, like: object): Record<string, unknown> {
  return Object.fromEntries(Object.keys(like).map(name => [name, from[name]]))
}

test('there are no more VUs than connections, nor than requests that can be pending at once', () => {
  assert.equal(load({ connections: { kind: 'keep-alive', count: 10, max: 30 } }).maxVUs, 30)
  assert.equal(load({ timeoutMs: 100 }).maxVUs, 5)
  assert.equal(load({ timeoutMs: 100 }).preAllocatedVUs, 5)
})

test('only fresh connections disable connection reuse', () => {
  assert.equal(options(script({ connections: { kind: 'fresh' } })).noConnectionReuse, true)
  assert.equal('noConnectionReuse' in options(script()), false)
})

test('think time becomes a random sleep around its mean', () => {
  const text = script({ arrival: { kind: 'closed', users: 7, durationMs: 3000, thinkMs: 1500 } })
  assert.match(text, /^import \{ sleep \} from "k6"$/m)
  assert.match(text, /^ {2}sleep\(1\.5 \* \(0\.5 \+ Math\.random\(\)\)\)$/m)
})

test('comments in the script name what k6 does differently', () => {
  const poisson = script({
    arrival: {
      kind: 'open',
      schedule: { phases: [{ kind: 'constant', rate: 1, durationMs: 1000 }], spacing: 'poisson', seed: 1 },
    },
  })
  assert.match(poisson, /^\/\/ k6 spaces arrivals evenly, not at random\.$/m)
  assert.match(script({ headers: { accept: ['a', 'b'] } }), /"accept": "a, b"[\s\S]*/)
})

test('the script is a valid module, and sends any method, headers and body unchanged', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it must stay as it is
  const body = 'line\nbreak "quoted" `ticks` ${no} */ \u2028'
  const text = script({ method: 'POST', body, headers: { 'x-"odd"': "it's" } })
  const { status, stderr } = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], {
    input: text,
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
  // Runs with stubs for the k6 modules that only print their arguments.
  const stubbed = text.replace(
    /^import http .*$/m,
    'const http = { request: (...all) => console.log(JSON.stringify(all)) }',
  )
  const run = spawnSync(process.execPath, ['--input-type=module', '-'], {
    input: `${stubbed.replace('export default function', 'function run')}\nrun()`,
    encoding: 'utf8',
  })
  assert.deepEqual(JSON.parse(run.stdout), [
    'POST',
    'http://127.0.0.1:3000/a?b=c',
    body,
    { headers: { 'x-"odd"': "it's" }, timeout: '2000ms', redirects: 0 },
  ])
})
