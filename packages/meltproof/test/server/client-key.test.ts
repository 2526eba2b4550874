/** Identifies the client of a request, and limits one client to a fair share. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, it } from 'node:test'
import { protect, type ProtectOptions } from '../../src/index.ts'
import { clientsBy } from '../../src/server/request/client-key.ts'
import { type Asked, servedBeside } from './flood.ts'

const quiet = (): void => {}
const byAddress = clientsBy('address', quiet, 1).ofHead!
const address = (text: string | undefined): number => byAddress(text, [])

describe("clientKey: 'address'", () => {
  it('treats an IPv4 address and its IPv4-mapped form as one client', () => {
    assert.equal(address('::ffff:10.0.0.1'), address('10.0.0.1'))
    assert.notEqual(address('10.0.0.1'), address('10.0.0.2'))
  })

  it('treats an IPv6 /64 network as one client', () => {
    assert.equal(address('2001:db8:1:2:3:4:5:6'), address('2001:DB8:1:2:ffff::1'))
    assert.equal(address('2001:db8::1'), address('2001:db8:0:0:5::'))
    assert.notEqual(address('2001:db8:1:2::1'), address('2001:db8:1:3::1'))
    assert.notEqual(address('::1'), address('2001:db8::1'))
  })

  it('treats all requests without an address as one client', () => {
    assert.equal(address(undefined), address(undefined))
    assert.notEqual(address(undefined), address('10.0.0.1'))
  })
})

describe('clientKey: a header that proxies write', () => {
  const of = (proxies: number, ...values: string[]): number =>
    clientsBy({ header: 'X-Forwarded-For', proxies }, quiet, 1).ofHead!('127.0.0.1', [
      'Host',
      'x',
      ...values.flatMap(value => ['X-Forwarded-For', value]),
    ])
  const expected = address('203.0.113.7')

  it('uses the entry of the outermost trusted proxy, and ignores what the client wrote', () => {
    assert.equal(of(1, '203.0.113.7'), expected)
    assert.equal(of(1, 'forged, 203.0.113.7'), expected)
    assert.equal(of(2, '1.1.1.1, 203.0.113.7, 10.0.0.2'), expected)
    assert.equal(of(2, '1.1.1.1', '203.0.113.7', '10.0.0.2'), expected)
    assert.equal(of(2, 'forged, 203.0.113.7', '10.0.0.2'), expected)
  })

  it('ignores the port of an address', () => {
    assert.equal(of(1, '203.0.113.7:5678'), expected)
    assert.equal(of(1, '[2001:db8::1]:443'), address('2001:db8::2'))
  })

  it('treats requests with fewer entries than trusted proxies as from an unknown address', () => {
    assert.equal(of(2, '203.0.113.7'), address(undefined))
    assert.equal(of(1), address(undefined))
    assert.equal(of(1, ''), address(undefined))
  })
})

describe('clientKey: a function', () => {
  const request = { headers: { 'x-key': 'a' } } as unknown as http.IncomingMessage

  it('uses the key that it returns', () => {
    const of = (key: string | undefined): number => clientsBy(() => key, quiet, 1).of(request)
    assert.equal(of('a'), of('a'))
    assert.notEqual(of('a'), of('b'))
    assert.notEqual(of('a'), of(undefined))
  })

  it('warns once if it throws or returns no string, and treats its requests as one client', () => {
    const none = clientsBy(() => undefined, quiet, 1).of(request)
    for (const [key, what] of [
      [
        () => {
          throw new Error('no user')
        },
        /threw Error: no user/,
      ],
      [() => 7, /returned 7/],
      [async () => Promise.reject(new Error('late')), /returned a promise/],
    ] as const) {
      const warnings: string[] = []
      const { of } = clientsBy(key as never, warning => warnings.push(warning), 1)
      assert.deepEqual([of(request), of(request)], [none, none])
      assert.equal(warnings.length, 1)
      assert.match(warnings[0]!, what)
    }
  })
})

describe('the option clientKey', () => {
  for (const [options, message] of [
    [{ clientKey: 'ip' }, /clientKey must be 'address', \{ header, proxies \}, or a function of the request; got 'ip'/],
    [{ clientKey: { header: 'a b' } }, /clientKey\.header must be the name of a header field/],
    [{ clientKey: { header: 'x', proxies: 0 } }, /clientKey\.proxies must be a whole number from 1 to 16/],
    [{ clientKey: { name: 'x' } }, /clientKey does not know 'name'/],
    [{ clientKey: 'address', criticality: () => 'critical' }, /without criticality/],
  ] as const) {
    it(`throws a message that says what is wrong with ${JSON.stringify(options)}`, () => {
      assert.throws(() => protect(http.createServer(), options as unknown as ProtectOptions), message)
    })
  }
})

describe('a client that floods', () => {
  const flood = (): Asked => ({ headers: forwardedFor('203.0.113.9') })
  const others = (n: number): Asked => ({ headers: forwardedFor(`203.0.113.${100 + (n % 10)}`) })

  it('leaves the other clients over 80 % of their requests when clientKey names a header', async () => {
    const held = await servedBeside(flood, others, { clientKey: { header: 'x-forwarded-for' } })
    const free = await servedBeside(flood, others, {})
    assert.ok(held > 0.8, `${(100 * held).toFixed(0)} % of the others are served`)
    assert.ok(free < held - 0.2, `with it ${(100 * held).toFixed(0)} %, without it ${(100 * free).toFixed(0)} %`)
  })

  it('leaves the other clients over 80 % of their requests when clientKey is a function', async () => {
    const held = await servedBeside(flood, others, { clientKey: req => String(req.headers['x-forwarded-for']) })
    assert.ok(held > 0.8, `${(100 * held).toFixed(0)} % of the others are served`)
  })
})

function forwardedFor(client: string): http.OutgoingHttpHeaders {
  return { 'x-forwarded-for': `forged, ${client}` }
}
