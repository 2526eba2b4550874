import type { AppDefinition } from '../runner/definition.ts'

const json = { 'Content-Type': 'application/json' }

export const app: AppDefinition = {
  title: 'NestJS, CommonJS',
  main: '@nestjs/core',
  build: [['node_modules/typescript/bin/tsc', '-p', '.']],
  run: ['built/main.js'],
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/cats' },
    { path: '/cats?name=Tide' },
    { path: '/cats/1' },
    { path: '/cats/one' },
    { path: '/cats/99' },
    { method: 'POST', path: '/cats', headers: json, body: '{"name":"Ebb"}' },
    { method: 'POST', path: '/cats', headers: json, body: '{}' },
    { method: 'POST', path: '/cats', headers: json, body: '{"name":' },
    { method: 'DELETE', path: '/cats/2' },
    { method: 'HEAD', path: '/cats' },
    { path: '/page' },
    { path: '/moved' },
    { path: '/broken' },
    { path: '/score' },
    { path: '/missing' },
  ],
  streams: [
    {
      kind: 'websocket',
      name: 'WebSocket, silent for 12 s',
      path: '/ws',
      steps: [
        { send: '{"event":"echo","data":"before"}' },
        { expect: /before/ },
        { pauseMs: 12_000 },
        { send: '{"event":"echo","data":"after"}' },
        { expect: /after/ },
      ],
    },
    {
      kind: 'lines',
      name: 'SSE, silences of 12 s',
      ask: { path: '/streams/sse', headers: { Accept: 'text/event-stream' } },
      line: /^data:/,
      count: 3,
      silenceMs: 12_000,
    },
    {
      kind: 'lines',
      name: 'ndjson, pauses of 12 s',
      ask: { path: '/streams/ndjson' },
      line: /^\{/,
      count: 3,
      silenceMs: 12_000,
    },
    { kind: 'long-poll', name: 'long poll of 15 s', ask: { path: '/streams/long' }, waitMs: 15_000 },
    {
      kind: 'upload',
      name: 'upload of 20 s',
      ask: { method: 'POST', path: '/streams/upload', headers: { 'Content-Type': 'application/octet-stream' } },
      body: () => Buffer.alloc(2_000_000, 'upload '),
      overMs: 20_000,
    },
    { kind: 'download', name: 'download of 20 s', ask: { path: '/streams/download' }, bytes: 32 << 20, overMs: 20_000 },
  ],
  dearest: { path: '/score' },
}
