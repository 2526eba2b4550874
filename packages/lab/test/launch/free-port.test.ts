/** The port for an app is still free when the app listens, although other programs open connections before. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { freePort, portsLeft } from '../../src/launch/free-port.ts'

test('portsLeft() is the larger range outside the ephemeral ports, or undefined if hardly any are left', () => {
  assert.deepEqual(portsLeft([32_768, 60_999]), [10_000, 32_767])
  assert.deepEqual(portsLeft([10_500, 60_000]), [60_001, 65_535])
  assert.deepEqual(portsLeft([1024, 5000]), [10_000, 65_535])
  assert.equal(portsLeft([1024, 65_535]), undefined)
})

test('freePort() is outside the ephemeral port range', { skip: process.platform !== 'linux' }, async () => {
  const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/).map(Number)
  const [first, last] = range as [number, number]
  if (portsLeft([first, last]) === undefined) return
  for (let i = 0; i < 50; i++) {
    const port = await freePort()
    assert.ok(port >= 10_000 && (port < first || port > last), `${port}`)
  }
})
