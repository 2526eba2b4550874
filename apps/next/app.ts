import type { AppDefinition, Stream } from '../runner/definition.ts'

const json = { 'Content-Type': 'application/json' }
const lines = (name: string, path: string, line: RegExp): Stream => ({
  kind: 'lines',
  name,
  ask: { path },
  line,
  count: 3,
  silenceMs: 12_000,
})

export const app: AppDefinition = {
  title: 'Next.js, app router',
  main: 'next',
  build: [['node_modules/next/dist/bin/next', 'build']],
  run: ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1', '-p', '{port}'],
  env: { NEXT_TELEMETRY_DISABLED: '1' },
  upstream: ['upstream.mjs'],
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
      // Its timer runs before its first piece is sent.
      silenceMs: 10_000,
    },
    lines('SSE, silences of 12 s', '/api/sse', /^data:/),
    lines('ndjson, pauses of 12 s', '/api/ndjson', /^\{/),
    lines('route that streams a fetch, ndjson', '/api/proxied?path=/ndjson', /^\{/),
    lines('route that streams a fetch, JSON', '/api/proxied?path=/json', /^\{/),
    lines('route that streams a fetch, SSE', '/api/proxied?path=/sse', /^data:/),
    { kind: 'long-poll', name: 'long poll of 15 s', ask: { path: '/api/long' }, waitMs: 15_000 },
    {
      kind: 'upload',
      name: 'upload of 20 s',
      ask: { method: 'POST', path: '/api/upload', headers: { 'Content-Type': 'application/octet-stream' } },
      body: () => Buffer.alloc(2_000_000, 'upload '),
      overMs: 20_000,
    },
    { kind: 'download', name: 'download of 20 s', ask: { path: '/api/download' }, bytes: 32 << 20, overMs: 20_000 },
  ],
  dearest: { path: '/dear' },
}
