import { POSTGRES, POSTGRES_URL } from '../runner/database.ts'
import type { AppDefinition } from '../runner/definition.ts'
import { echoed, inPieces } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }
const multipart = { 'Content-Type': 'multipart/form-data; boundary=meltproof' }
const file = (text: string): string =>
  '--meltproof\r\nContent-Disposition: form-data; name="file"; filename="file.txt"\r\n' +
  `Content-Type: text/plain\r\n\r\n${text}\r\n--meltproof--\r\n`

export const app: AppDefinition = {
  title: 'Fastify with Prisma',
  main: 'fastify',
  build: [['generate.mjs']],
  run: ['server.mjs'],
  env: { DATABASE_URL: POSTGRES_URL },
  upstream: POSTGRES,
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/posts?take=3' },
    { path: '/posts?take=2&skip=198' },
    { path: '/posts?take=1000' },
    { path: '/posts/7' },
    { path: '/posts/seven' },
    { path: '/posts/9999' },
    { method: 'HEAD', path: '/posts/7' },
    { method: 'POST', path: '/posts', headers: json, body: '{"title":"New","body":"text","authorId":1}' },
    { method: 'POST', path: '/posts', headers: json, body: '{"title":"Of nobody","body":"text","authorId":99}' },
    { method: 'POST', path: '/posts', headers: json, body: '{"title":7}' },
    { method: 'POST', path: '/posts', headers: json, body: '{"title":' },
    { method: 'POST', path: '/posts', headers: { 'Content-Type': 'text/csv' }, body: 'title' },
    { method: 'PATCH', path: '/posts/201', headers: json, body: '{"title":"Renamed"}' },
    { method: 'POST', path: '/posts/201/likes' },
    { method: 'POST', path: '/posts/9999/likes' },
    { path: '/posts/201' },
    { method: 'DELETE', path: '/posts/201' },
    { method: 'DELETE', path: '/posts/201' },
    { path: '/search?q=goodput' },
    { path: '/feed' },
    { path: '/broken' },
    { path: '/missing' },
    { method: 'POST', path: '/files', headers: multipart, body: file('a small file') },
  ],
  streams: [
    echoed('WebSocket, silent for 12 s', '/ws'),
    inPieces('SSE, silences of 12 s', { path: '/sse' }, /^data:/),
    { kind: 'long-poll', name: 'query of 15 s', ask: { path: '/sleep?seconds=15' }, waitMs: 15_000 },
    {
      kind: 'long-poll',
      name: 'transaction of 15 s',
      ask: { method: 'POST', path: '/slow-transaction' },
      waitMs: 15_000,
    },
    {
      kind: 'upload',
      name: 'multipart upload of 20 s',
      ask: { method: 'POST', path: '/files', headers: multipart },
      body: () => Buffer.from(file('slow '.repeat(200_000))),
      overMs: 20_000,
    },
    {
      kind: 'download',
      name: 'export of a table, read over 20 s',
      ask: { path: '/export?copies=200' },
      bytes: 20_000_000,
      overMs: 20_000,
    },
  ],
  dearest: { path: '/feed' },
}
