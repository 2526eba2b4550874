import type { AppDefinition } from '../runner/definition.ts'
import { inPieces, longPoll, slowDownload, slowUpload, UPSTREAM_IN_PIECES } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }
export const app: AppDefinition = {
  title: 'Next.js, app router',
  main: 'next',
  build: [['node_modules/next/dist/bin/next', 'build']],
  run: ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1', '-p', '{port}'],
  env: { NEXT_TELEMETRY_DISABLED: '1' },
  upstream: UPSTREAM_IN_PIECES,
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/dear' },
    { path: '/user/7' },
    { path: '/user/nobody' },
    { path: '/missing' },
    { path: '/api/echo?a=1' },
    { method: 'POST', path: '/api/echo', headers: json, body: '{"a":1}' },
    { method: 'POST', path: '/api/echo', headers: json, body: '{"a":' },
    { method: 'DELETE', path: '/api/echo' },
    { method: 'HEAD', path: '/' },
    { path: '/api/broken' },
    { path: '/', headers: { RSC: '1' } },
    { path: '/', headers: { 'Accept-Encoding': 'gzip' } },
  ],
  streams: [
    {
      kind: 'lines',
      name: 'page rendered while sent, 12 s',
      ask: { path: '/slow' },
      separator: '</',
      line: /<h1>at once|<p>waiting|<p>late by/,
      count: 3,
      // The timer of 12 s starts before the first piece is sent, so the silence is shorter.
      silenceMs: 10_000,
    },
    inPieces('SSE, silences of 12 s', { path: '/api/sse' }, /^data:/),
    inPieces('ndjson, pauses of 12 s', { path: '/api/ndjson' }, /^\{/),
    inPieces('route that streams a fetch, ndjson', { path: '/api/proxied?path=/ndjson' }, /^\{/),
    inPieces('route that streams a fetch, JSON', { path: '/api/proxied?path=/json' }, /^\{/),
    inPieces('route that streams a fetch, SSE', { path: '/api/proxied?path=/sse' }, /^data:/),
    longPoll('/api/long'),
    slowUpload('/api/upload', { 'Content-Type': 'application/octet-stream' }),
    slowDownload('/api/download'),
  ],
  dearest: { path: '/dear' },
}
