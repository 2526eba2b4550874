import type { AppDefinition } from '../runner/definition.ts'

const json = { 'Content-Type': 'application/json' }

export const app: AppDefinition = {
  title: 'Nitro',
  main: 'nitropack',
  build: [['node_modules/nitropack/dist/cli/index.mjs', 'build']],
  run: ['.output/server/index.mjs'],
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/hello/stranger?a=1&a=2' },
    { path: '/moved' },
    { path: '/cached' },
    { path: '/cached' },
    { path: '/cors/open' },
    { method: 'OPTIONS', path: '/cors/open', headers: { Origin: 'http://elsewhere.example' } },
    { method: 'POST', path: '/echo', headers: json, body: '{"a":1}' },
    { method: 'POST', path: '/echo', headers: json, body: '{"a":' },
    { path: '/broken' },
    { path: '/score' },
    { method: 'HEAD', path: '/score' },
    { path: '/missing', headers: { Accept: 'application/json' } },
    { path: '/missing', headers: { Accept: 'text/html' } },
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
    {
      kind: 'lines',
      name: 'SSE, silences of 12 s',
      ask: { path: '/sse' },
      line: /^data:/,
      count: 3,
      silenceMs: 12_000,
    },
    {
      kind: 'lines',
      name: 'ndjson, pauses of 12 s',
      ask: { path: '/ndjson' },
      line: /^\{/,
      count: 3,
      silenceMs: 12_000,
    },
    { kind: 'long-poll', name: 'long poll of 15 s', ask: { path: '/long' }, waitMs: 15_000 },
    {
      kind: 'upload',
      name: 'upload of 20 s',
      ask: { method: 'POST', path: '/upload', headers: { 'Content-Type': 'application/octet-stream' } },
      body: () => Buffer.alloc(2_000_000, 'upload '),
      overMs: 20_000,
    },
    { kind: 'download', name: 'download of 20 s', ask: { path: '/download' }, bytes: 32 << 20, overMs: 20_000 },
  ],
  dearest: { path: '/score' },
}
