/** The real thread pool, with lookups that wait in it. */
import assert from 'node:assert/strict'
import dns from 'node:dns'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { now } from '../../src/clock.ts'
import { lookupWaits, watchLookups } from '../../src/signals/name-lookups.ts'
import { HeldThreads, THREADS } from './held-threads.ts'

const own = dns.lookup
afterEach(() => assert.equal(dns.lookup, own, 'what Node has is there again'))
const options = process.platform === 'win32' ? { skip: 'no named pipes' } : {}

const waited = (fromMs: number, host = 'localhost'): number =>
  lookupWaits(host, fromMs, now()).reduce((sum, wait) => sum + wait.toMs - wait.fromMs, 0)

test('a lookup that waits for busy threads of the pool is measured', options, async () => {
  const unwatch = watchLookups()
  const held = new HeldThreads(THREADS)
  const fromMs = now()
  const found = promisify(dns.lookup)('localhost')
  await sleep(200)
  assert.ok(waited(fromMs) >= 190, `${waited(fromMs)} ms while it waits`)
  const releasedAtMs = now()
  await held.release()
  assert.ok(['127.0.0.1', '::1'].includes((await found).address), 'also by the form of util.promisify()')
  const waitedMs = waited(fromMs)
  assert.ok(waitedMs >= releasedAtMs - fromMs - 5 && waitedMs <= now() - fromMs, `${waitedMs} ms`)
  assert.equal(waited(fromMs, 'other.example'), 0)
  unwatch()
})

test('a lookup that has a thread and a slow resolver has not waited', options, async () => {
  const resolver = new HeldThreads(0)
  const slow = (_: string, callback: (error: null, address: string, family: number) => void): void =>
    void resolver.hold().then(() => callback(null, '127.0.0.1', 4))
  dns.lookup = slow as typeof dns.lookup
  const unwatch = watchLookups()
  const busy = new HeldThreads(THREADS - 2)
  const fromMs = now()
  const found = Promise.all([1, 2].map(() => promisify(dns.lookup)('localhost')))
  await sleep(200)
  assert.ok(waited(fromMs) < 100, `${waited(fromMs)} ms while it takes its time`)
  await resolver.release()
  await found
  await busy.release()
  assert.ok(waited(fromMs) < 100, `${waited(fromMs)} ms`)
  unwatch()
  assert.equal(dns.lookup, slow)
  dns.lookup = own
})

test('errors, invalid arguments and addresses of dns.lookup() stay as they are', async () => {
  const unwatch = watchLookups()
  assert.notEqual(dns.lookup, own)
  for (const [args, code] of [
    [['localhost', { family: 5 }, () => undefined], 'ERR_INVALID_ARG_VALUE'],
    [['localhost'], 'ERR_INVALID_ARG_TYPE'],
    [[7, () => undefined], 'ERR_INVALID_ARG_TYPE'],
  ] as const) {
    assert.throws(() => Reflect.apply(dns.lookup, dns, args), { code })
  }
  await assert.rejects(promisify(dns.lookup)('nowhere.invalid'), {
    syscall: 'getaddrinfo',
    hostname: 'nowhere.invalid',
  })
  assert.deepEqual(await promisify(dns.lookup)('127.0.0.1'), { address: '127.0.0.1', family: 4 })
  unwatch()
})
