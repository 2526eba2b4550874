import type { AppDefinition } from '../runner/definition.ts'
import { echoed, inPieces, longPoll, slowDownload, slowUpload, UPSTREAM_IN_PIECES } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }
const bearer = { Authorization: 'Bearer {token}' }
const multipart = { 'Content-Type': 'multipart/form-data; boundary=meltproof' }
const file = (text: string): string =>
  '--meltproof\r\nContent-Disposition: form-data; name="file"; filename="file.txt"\r\n' +
  `Content-Type: text/plain\r\n\r\n${text}\r\n--meltproof--\r\n`

export const app: AppDefinition = {
  title: 'Hono',
  main: 'hono',
  build: [['make-large.mjs']],
  run: ['server.mjs'],
  upstream: UPSTREAM_IN_PIECES,
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/', headers: { 'Accept-Encoding': 'gzip' } },
    { path: '/hello/stranger?a=1&a=2' },
    { path: '/moved' },
    { path: '/cookies', headers: { Cookie: 'seen=3' } },
    {
      method: 'POST',
      path: '/login',
      headers: json,
      body: '{"name":"stranger"}',
      keep: { token: /"token":"([^"]+)"/ },
    },
    { method: 'POST', path: '/login', headers: json, body: '{"name":7}' },
    { method: 'POST', path: '/login', headers: json, body: '{"name":' },
    { path: '/private/me', headers: bearer },
    { path: '/private/me' },
    { path: '/private/table', headers: bearer },
    { path: '/private/table', headers: { ...bearer, 'Accept-Encoding': 'gzip' } },
    { path: '/etag' },
    { path: '/etag', headers: { 'If-None-Match': '"another"' } },
    { path: '/in-time' },
    { path: '/too-late' },
    { path: '/broken' },
    { path: '/missing' },
    { method: 'HEAD', path: '/' },
    { method: 'OPTIONS', path: '/hello/stranger', headers: { Origin: 'http://elsewhere.example' } },
    { method: 'POST', path: '/files', headers: multipart, body: file('a small file') },
    { path: '/static/large.bin', headers: { Range: 'bytes=100-199' } },
    { path: '/direct' },
  ],
  streams: [
    echoed('WebSocket, silent for 12 s', '/ws'),
    inPieces('SSE, silences of 12 s', { path: '/sse' }, /^data:/),
    inPieces('ndjson, pauses of 12 s', { path: '/ndjson' }, /^\{/),
    inPieces('text by streamText(), pauses of 12 s', { path: '/text' }, /^\d/),
    inPieces('proxied ndjson, pauses of 12 s', { path: '/proxied/ndjson' }, /^\{/),
    longPoll('/long'),
    slowUpload('/upload', { 'Content-Type': 'application/octet-stream' }),
    {
      kind: 'upload',
      name: 'multipart upload of 20 s',
      ask: { method: 'POST', path: '/files', headers: multipart },
      body: () => Buffer.from(file('slow '.repeat(200_000))),
      overMs: 20_000,
    },
    slowDownload('/static/large.bin'),
    { ...slowDownload('/download'), name: 'download of a ReadableStream over 20 s' },
  ],
  dearest: { path: '/table' },
}
