import type { AppDefinition, Stream } from '../runner/definition.ts'

const inPieces = (name: string, path: string, line: RegExp): Stream => ({
  kind: 'lines',
  name,
  ask: { path },
  line,
  count: 3,
  silenceMs: 12_000,
})

export const app: AppDefinition = {
  title: 'http-proxy',
  main: 'http-proxy',
  run: ['proxy.mjs'],
  upstream: ['upstream.mjs'],
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/json' },
    { path: '/missing?a=1&b=%20' },
    { path: '/cookies' },
    { path: '/moved' },
    { path: '/broken' },
    { path: '/busy' },
    { path: '/nothing' },
    { path: '/gzip' },
    { path: '/trailers' },
    { method: 'HEAD', path: '/json' },
    { method: 'POST', path: '/echo', headers: { 'Content-Type': 'text/plain' }, body: 'through the proxy' },
    { method: 'PUT', path: '/echo', body: 'x'.repeat(300_000) },
    { method: 'DELETE', path: '/echo' },
  ],
  streams: [
    {
      kind: 'websocket',
      name: 'WebSocket, silent for 12 s',
      path: '/ws',
      steps: [
        { send: 'before' },
        { expect: /echo before/ },
        { pauseMs: 12_000 },
        { send: 'after' },
        { expect: /echo after/ },
      ],
    },
    inPieces('SSE, silences of 12 s', '/sse', /^data:/),
    inPieces('ndjson, pauses of 12 s', '/ndjson', /^\{/),
    inPieces('JSON in pieces, pauses of 12 s', '/json-in-pieces', /^\d/),
    inPieces('plain text in pieces, pauses of 12 s', '/plain-in-pieces', /^\d/),
    { kind: 'long-poll', name: 'long poll of 15 s', ask: { path: '/long' }, waitMs: 15_000 },
    {
      kind: 'upload',
      name: 'upload of 20 s',
      ask: { method: 'POST', path: '/echo' },
      body: () => Buffer.alloc(2_000_000, 'upload '),
      overMs: 20_000,
    },
    { kind: 'download', name: 'download of 20 s', ask: { path: '/download' }, bytes: 32 << 20, overMs: 20_000 },
  ],
  dearest: { path: '/work' },
}
