import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhoneQuota } from '../src/quota.ts'

test('a phone that sends once a second never has to wait', () => {
  const quota = new PhoneQuota()
  for (let second = 0; second < 600; second++) assert.equal(quota.take('a', second * 1000), 0)
})

test('a flood gets its burst, then four reports a second, and other phones are not affected', () => {
  const quota = new PhoneQuota()
  let passed = 0
  for (let ms = 0; ms < 10_000; ms++) if (quota.take('flood', ms) === 0) passed++
  assert.ok(passed >= 40 + 39 && passed <= 40 + 40, `${passed}`)
  assert.equal(quota.take('other', 10_000), 0)
})

test('after the wait that take() returns, a report is accepted', () => {
  const quota = new PhoneQuota()
  while (quota.take('a', 0) === 0);
  const waitMs = quota.take('a', 0)
  assert.ok(waitMs > 0)
  assert.equal(quota.take('a', waitMs), 0)
})

test('the quota of many phones has a bounded size', () => {
  const quota = new PhoneQuota(1000)
  for (let phone = 0; phone < 5000; phone++) quota.take(`phone ${phone}`, phone)
  assert.equal(quota.size, 1000)
})
