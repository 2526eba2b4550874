import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isThisComputer, lanAddressOf } from '../src/lan.ts'

const ip = (address: string, internal = false) => [{ address, family: 'IPv4' as const, internal }]

test('the address for phones is that of the home network, not of a container bridge', () => {
  const home = {
    lo: ip('127.0.0.1', true),
    docker0: ip('172.17.0.1'),
    eth0: ip('203.0.113.9'),
    wlan0: ip('192.168.1.5'),
  }
  assert.equal(lanAddressOf(home), '192.168.1.5')
  assert.equal(lanAddressOf({ docker0: ip('192.168.99.1'), en0: ip('10.0.0.7') }), '10.0.0.7')
  assert.equal(lanAddressOf({ lo: ip('127.0.0.1', true), wlan0: undefined }), undefined)
})

test('isThisComputer() recognises local addresses in any form', () => {
  const interfaces = { lo: ip('127.0.0.1', true), wlan0: ip('192.168.1.5') }
  for (const [address, ours] of [
    ['127.0.0.1', true],
    ['::ffff:192.168.1.5', true],
    ['192.168.1.6', false],
    [undefined, false],
  ] as const) {
    assert.equal(isThisComputer(address, interfaces), ours, String(address))
  }
})
