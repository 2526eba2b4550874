/** Converts requests that a browser recorded into requests of meltlab. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHar } from '../../src/attack/har.ts'

const har = (...requests: unknown[]): string =>
  JSON.stringify({ log: { entries: requests.map(request => ({ request })) } })

test('parseHar() keeps the order, headers and bodies of requests, and skips entries that are not HTTP requests', () => {
  const { targets, skipped } = parseHar(
    `\ufeff${har(
      {
        method: 'GET',
        url: 'https://a/one',
        headers: [
          { name: ':authority', value: 'a' },
          { name: 'Host', value: 'a' },
          { name: 'Connection', value: 'keep-alive' },
          { name: 'Accept', value: 'text/html' },
          { name: 'cookie', value: 'x=1' },
        ],
      },
      { method: 'GET', url: 'data:image/png;base64,AAAA' },
      { method: 'GET', url: 'wss://a/socket' },
      {
        method: 'post',
        url: 'https://a/two',
        headers: [{ name: 'content-length', value: '7' }],
        postData: { mimeType: 'application/json', text: '{"a":1}' },
      },
      { method: 'POST', url: 'https://a/three', postData: { mimeType: 'x/y', text: 'AP8=', encoding: 'base64' } },
      {
        method: 'POST',
        url: 'https://a/four',
        headers: [{ name: 'Content-Type', value: 'application/x-www-form-urlencoded' }],
        postData: {
          mimeType: 'ignored',
          params: [
            { name: 'a', value: 'b c' },
            { name: 'd', value: '&' },
          ],
        },
      },
    )}`,
  )
  assert.equal(skipped, 2)
  assert.deepEqual(targets, [
    {
      url: 'https://a/one',
      method: 'GET',
      headers: { Accept: 'text/html', cookie: 'x=1' },
      body: undefined,
      entry: 1,
    },
    {
      url: 'https://a/two',
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"a":1}',
      entry: 4,
    },
    {
      url: 'https://a/three',
      method: 'POST',
      headers: { 'Content-Type': 'x/y' },
      body: new Uint8Array(Buffer.from([0, 255])),
      entry: 5,
    },
    {
      url: 'https://a/four',
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'a=b+c&d=%26',
      entry: 6,
    },
  ])
})

test('parseHar() says what is wrong with an invalid file', () => {
  assert.throws(() => parseHar('{'), SyntaxError)
  assert.throws(() => parseHar('{}'), /it has no log\.entries/)
  assert.throws(() => parseHar('null'), /it has no log\.entries/)
  assert.throws(
    () => parseHar(har({ method: 'GET', url: 'http://a/' }, { url: 'http://a/' })),
    /entry 2 has no request/,
  )
})
