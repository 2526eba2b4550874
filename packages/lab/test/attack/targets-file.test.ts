/** Targets files in the formats of vegeta, and the errors for malformed lines. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseTargets, TargetsError } from '../../src/attack/targets-file.ts'

const bodies: Readonly<Record<string, string>> = { 'body.json': '{"a":1}' }
const readBody = (file: string): Uint8Array => {
  const text = bodies[file]
  if (text === undefined) throw new Error('ENOENT: no such file')
  return new TextEncoder().encode(text)
}
const parsed = (...lines: string[]) => parseTargets(lines.join('\n'), readBody)
const refused = (lines: readonly string[], line: number, message: RegExp): void =>
  assert.throws(
    () => parsed(...lines),
    (error: unknown) => {
      assert.ok(error instanceof TargetsError)
      assert.ok(error.message.startsWith(`line ${line}: `), error.message)
      assert.match(error.message, message)
      return true
    },
  )

describe("vegeta's http format", () => {
  test('reads method, URL, headers, bodies, comments and blank lines', () => {
    const targets = parsed(
      '# all of them',
      '',
      'GET http://a/one?x={{random 1 9}}',
      'Cookie: a=1',
      '# in between',
      'cookie:b=2',
      'X-Empty:',
      '',
      '',
      'post http://a/two',
      '@body.json',
      'DELETE http://b/three',
    )
    assert.deepEqual(targets, [
      {
        method: 'GET',
        url: 'http://a/one?x={{random 1 9}}',
        headers: { Cookie: ['a=1', 'b=2'], 'X-Empty': '' },
        body: undefined,
      },
      { method: 'POST', url: 'http://a/two', headers: {}, body: readBody('body.json') },
      { method: 'DELETE', url: 'http://b/three', headers: {}, body: undefined },
    ])
  })

  test('accepts a byte order mark and CRLF line ends', () => {
    const [target] = parseTargets('\ufeffGET http://a/\r\nA: b\r\n', readBody)
    assert.deepEqual([target!.url, target!.headers], ['http://a/', { A: 'b' }])
  })

  test('refuses a malformed line, and gives its number', () => {
    refused(['http://a/'], 1, /expected a method and a URL/)
    refused(['GET http://a/', '', 'A: b'], 3, /expected a method and a URL.*got "A: b"/)
    refused(['GET http://a/', 'nonsense'], 2, /expected a header/)
    refused(['GET http://a/', 'two words'], 2, /expected a header such as .*, or an HTTP method/)
    refused(['# c', 'GTE http://a/'], 2, /expected an HTTP method such as GET.*got "GTE"/)
    refused(['CONNECT http://a/'], 1, /CONNECT opens a tunnel/)
    refused(['GET http://a/', '@none.json'], 2, /the body none\.json cannot be read: ENOENT/)
    refused(['GET http://a/', '@body.json', '@body.json'], 3, /one body/)
  })

  test('yields no targets for a file without any', () => assert.deepEqual(parsed('', '# nothing'), []))
})

describe("vegeta's JSON format", () => {
  test('reads one object per line, with bodies in base64', () => {
    const targets = parsed(
      '',
      '{"method":"post","url":"http://a/","body":"AP8=","header":{"A":["b","c"],"D":"e"}}',
      '{"method":"GET","url":"http://a/two"}',
    )
    assert.deepEqual(targets, [
      {
        method: 'POST',
        url: 'http://a/',
        headers: { A: ['b', 'c'], D: 'e' },
        body: new Uint8Array([0, 255]),
      },
      { method: 'GET', url: 'http://a/two', headers: {}, body: undefined },
    ])
  })

  test('refuses a malformed line, and gives its number', () => {
    const good = '{"method":"GET","url":"http://a/"}'
    refused([good, '{"method":'], 2, /: not JSON/)
    refused([good, '[]'], 2, /"method"/)
    refused([good, 'null'], 2, /expected an object/)
    refused(['{"method":"GET"}'], 1, /"url"/)
    refused(['{"method":"GTE","url":"http://a/"}'], 1, /expected an HTTP method/)
    refused(['{"method":"GET","url":"http://a/","body":"é"}'], 1, /base64/)
    refused(['{"method":"GET","url":"http://a/","header":{"A":1}}'], 1, /"header"/)
    refused(['{"method":"GET","url":"http://a/","header":["A"]}'], 1, /"header"/)
  })
})
