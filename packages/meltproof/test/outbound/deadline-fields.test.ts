/** Deadline fields on outgoing calls: only to origins in tellTo, and never over a field of the app. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { afterEach, describe, test } from 'node:test'
import { Agent } from 'undici'
import { Budget } from '../../src/deadline/budget.ts'
import { runWithBudget } from '../../src/deadline/context.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { bound, install } from '../../src/outbound/install.ts'
import { LimitTable, type OutboundLimits } from '../../src/outbound/limits.ts'
import { CLIENTS } from './clients.ts'
import { startDependency } from './dependency.ts'

const dependency = await startDependency()
const FIELD = 'x-envoy-expected-rq-timeout-ms'
let uninstall: (() => void) | undefined
afterEach(() => uninstall?.())
const fieldsOf = async (call: Promise<string>): Promise<Record<string, string>> =>
  JSON.parse(await call) as Record<string, string>

for (const [name, client] of Object.entries(CLIENTS)) {
  describe(name, () => {
    test('sends no deadline field unless the origin is in tellTo', async () => {
      uninstall = install({ tellTo: ['http://somewhere.else'] })
      assert.equal((await fieldsOf(client(`${dependency.url}/headers`)))[FIELD], undefined)
      uninstall = install({})
      assert.equal((await fieldsOf(client(`${dependency.url}/headers`)))[FIELD], undefined)
    })

    test('sends an allowed origin the rest of the limit or of the budget', async () => {
      uninstall = install({
        totalMs: 5_000,
        tellTo: [dependency.url],
        deadlineHeaders: [
          { name: FIELD, format: 'milliseconds' },
          { name: 'grpc-timeout', format: 'grpc' },
        ],
      })
      const whole = await fieldsOf(client(`${dependency.url}/headers`))
      for (const value of [whole[FIELD]!, whole['grpc-timeout']!.replace('m', '')]) {
        assert.ok(Number(value) <= 5_000 && Number(value) > 0, value)
      }
      const budget = new Budget(2_000)
      const part = await fieldsOf(runWithBudget(budget, () => client(`${dependency.url}/headers`)))
      assert.ok(Number(part[FIELD]) <= 2_000 && Number(part[FIELD]) > 0, part[FIELD])
      budget.settle()
    })
  })
}

test('a deadline field set by the app stays as it is', async () => {
  uninstall = install({ tellTo: ['*'] })
  const own = { [FIELD.toUpperCase()]: '7' }
  const fetched = fetch(`${dependency.url}/headers`, { headers: own }).then(response => response.text())
  assert.equal((await fieldsOf(fetched))[FIELD], '7')
  const requested = new Promise<string>((resolve, reject) => {
    http
      .get(`${dependency.url}/headers`, { headers: own }, response =>
        response.once('data', data => resolve(String(data))),
      )
      .on('error', reject)
  })
  assert.equal((await fieldsOf(requested))[FIELD], '7')
  const agent = new Agent()
  const { body } = await agent.request({
    origin: dependency.url,
    path: '/headers',
    method: 'GET',
    headers: [FIELD, '7', 'x-other', '8'],
  })
  const fields = await fieldsOf(body.text())
  assert.equal(fields[FIELD], '7')
  assert.equal(fields['x-other'], '8')
  await agent.close()
})

test('bound() sends the deadline field, too', async () => {
  const agent = bound(new Agent(), { totalMs: 3_000, tellTo: [dependency.url] })
  const { body } = await agent.request({ origin: dependency.url, path: '/headers', method: 'GET' })
  const { [FIELD]: left } = await fieldsOf(body.text())
  assert.ok(Number(left) <= 3_000 && Number(left) > 0, left)
  await agent.close()
})

test('invalid origins and headers are rejected', () => {
  for (const options of [
    { tellTo: 'http://a' },
    { tellTo: ['a'] },
    { deadlineHeaders: [{ name: 'host', format: 'milliseconds' }] },
    { deadlineHeaders: [{ name: 'x', format: 'seconds' }] },
  ]) {
    assert.throws(() => new LimitTable(options as OutboundLimits), isMeltproofError)
  }
})
