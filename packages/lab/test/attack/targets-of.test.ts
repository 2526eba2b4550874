/** The requests to send, from flags and files. Every error names its file and line. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import type { Flags } from '../../src/attack/flags.ts'
import { targetsOf } from '../../src/attack/targets-of.ts'
import { tlsOf } from '../../src/attack/tls-files.ts'
import { UserError } from '../../src/user-error.ts'
import { AUTHORITY, CLIENT, SERVER } from '../load/certificates.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'meltlab-targets-'))
after(() => rmSync(folder, { recursive: true }))
const file = (name: string, text: string | Uint8Array): string => {
  const whole = path.join(folder, name)
  writeFileSync(whole, text)
  return whole
}
const usual: Flags = { duration: 1000, timeout: 1000, slo: 1000, spacing: 'even' }
const flags = (given: Partial<Flags>): Flags => ({ ...usual, ...given })
const refused = (act: () => Promise<unknown>, message: RegExp): Promise<void> =>
  assert.rejects(act, { name: UserError.name, message })

describe('targetsOf()', () => {
  test('returns one target for a URL, with the method, headers and body from the flags', async () => {
    const body = file('body.bin', new Uint8Array([0, 255]))
    assert.deepEqual((await targetsOf('http://a/', usual)).list, [
      { url: 'http://a/', method: 'GET', headers: {}, body: undefined },
    ])
    const { list, templated } = await targetsOf('http://a/', flags({ body: `@${body}`, header: ['A: b'] }))
    assert.deepEqual(list, [{ url: 'http://a/', method: 'POST', headers: { A: 'b' }, body: new Uint8Array([0, 255]) }])
    assert.ok(templated)
    await refused(
      () => targetsOf('http://a/', flags({ body: '@/none/there' })),
      /--body \/none\/there cannot be read: ENOENT/,
    )
  })

  test('accepts exactly one source of targets', async () => {
    await refused(
      () => targetsOf(undefined, usual),
      /one of a URL, --targets FILE, --har FILE and --journey FILE, got none/,
    )
    await refused(() => targetsOf('http://a/', flags({ har: 'x.har' })), /got http:\/\/a\/ and x\.har/)
    const one = file('one.txt', 'GET http://a/')
    await refused(() => targetsOf(undefined, flags({ targets: one, body: 'x' })), /--body needs a URL/)
    await refused(() => targetsOf(undefined, flags({ targets: one, method: 'PUT' })), /--method needs a URL/)
  })

  test('adds the headers of --header to targets from a file, unless a target sets its own', async () => {
    const targets = file('two.txt', 'GET http://a/\nx-a: own\n\nGET http://b/')
    const { list } = await targetsOf(undefined, flags({ targets, header: ['X-A: given', 'X-B: given'] }))
    assert.deepEqual(
      list.map(({ headers }) => headers),
      [
        { 'x-a': 'own', 'X-B': 'given' },
        { 'X-A': 'given', 'X-B': 'given' },
      ],
    )
  })

  test('refuses a target from a file that cannot be sent, and gives its line', async () => {
    const cases: readonly [string, RegExp][] = [
      ['GET http://a/\n\nGET nowhere', /bad\.txt, line 3: expected a URL such as http:.*got "nowhere"\.$/],
      ['GET ftp://a/', /line 1: expected a URL/],
      ['GET http://a/\nContent-Length: 3', /line 2: header Content-Length is set by the generator itself/],
      ['GET http://a/{{sequence}}', /line 1: \{\{sequence\}\} is not one of \{\{seq\}\}/],
      ['GET http://a/\nA: b\nB: {{sequence}}', /line 3: \{\{sequence\}\} is not one of/],
      ['{"method":"GET","url":"http://a/"}\n{"method":"GET","url":"a"}', /line 2: expected a URL/],
      ['GET http://{{seq}}/', /line 1: the host of a URL is the same for all requests/],
      ['GET http://a/\n@none', /line 2: the body none cannot be read/],
      ['# nothing', /bad\.txt contains no target/],
    ]
    for (const [text, message] of cases) {
      const targets = file('bad.txt', text)
      await refused(() => targetsOf(undefined, flags({ targets })), message)
    }
    const good = file('good.txt', 'GET http://a/')
    await refused(
      () => targetsOf(undefined, flags({ targets: good, header: ['TE: x', 'Upgrade: y'] })),
      /^--header: header Upgrade is set/,
    )
    await refused(() => targetsOf(undefined, flags({ targets: folder })), /--targets .* cannot be read: EISDIR/)
  })

  test('sends the entries of a HAR unchanged, with template fields left as they are', async () => {
    const entry = (url: string) => ({ request: { method: 'GET', url, headers: [{ name: 'A', value: '{{name}}' }] } })
    const written = (...entries: unknown[]) => file('x.har', JSON.stringify({ log: { entries } }))
    const { list, templated, note } = await targetsOf(
      undefined,
      flags({ har: written(entry('http://a/{{x}}'), entry('wss://a/')) }),
    )
    assert.deepEqual([list.length, templated], [1, false])
    assert.match(note!, /^1 of 2 entries of .* are not HTTP requests/)
    await refused(
      () => targetsOf(undefined, flags({ har: written() })),
      /contains no target: no entry is an HTTP request/,
    )
    await refused(() => targetsOf(undefined, flags({ har: file('y.har', '{') })), /y\.har is not a valid HAR: /)
    const bad = { request: { method: 'GET', url: 'http://a/', headers: [{ name: 'a b', value: '' }] } }
    await refused(
      () => targetsOf(undefined, flags({ har: written(entry('wss://a/'), bad) })),
      /entry 2 \(http:\/\/a\/\) cannot be sent: header names/,
    )
    const odd = { request: { method: 'CONNECT', url: 'http://a/', headers: [] } }
    await refused(() => targetsOf(undefined, flags({ har: written(odd) })), /x\.har, entry 1 .*CONNECT opens a tunnel/)
  })
})

describe('tlsOf()', () => {
  const [ca, cert, key] = [file('ca.pem', AUTHORITY), file('cert.pem', CLIENT.cert), file('key.pem', CLIENT.key)]
  const both = file('both.pem', `${CLIENT.cert}\n${CLIENT.key}`)

  test('reads certificate and key from one file or from two', async () => {
    assert.equal(await tlsOf(usual), undefined)
    assert.deepEqual(await tlsOf(flags({ insecure: true })), { insecure: true })
    assert.deepEqual(await tlsOf(flags({ cacert: ca, cert, key })), { ca: AUTHORITY, ...CLIENT })
    assert.equal((await tlsOf(flags({ cert: both })))!.key, `${CLIENT.cert}\n${CLIENT.key}`)
  })

  test('refuses unusable certificates and keys, and names the flag and the file', async () => {
    const other = file('other.pem', SERVER.key)
    await refused(() => tlsOf(flags({ key })), /--key needs --cert/)
    await refused(() => tlsOf(flags({ insecure: true, cacert: ca })), /exclude each other/)
    await refused(() => tlsOf(flags({ cacert: '/none' })), /--cacert \/none cannot be read/)
    await refused(() => tlsOf(flags({ cacert: key })), /--cacert .*key\.pem is not a certificate in PEM/)
    await refused(() => tlsOf(flags({ cert })), /--cert .*cert\.pem is not a private key in PEM/)
    await refused(
      () => tlsOf(flags({ cert, key: other })),
      /--key .*other\.pem is not the key of the certificate in .*cert\.pem/,
    )
  })
})
