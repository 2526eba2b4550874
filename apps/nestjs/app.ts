import type { AppDefinition } from '../runner/definition.ts'
import { inPieces, longPoll, slowDownload, slowUpload } from '../runner/usual-streams.ts'

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
    inPieces('SSE, silences of 12 s', { path: '/streams/sse', headers: { Accept: 'text/event-stream' } }, /^data:/),
    inPieces('ndjson, pauses of 12 s', { path: '/streams/ndjson' }, /^\{/),
    longPoll('/streams/long'),
    slowUpload('/streams/upload', { 'Content-Type': 'application/octet-stream' }),
    slowDownload('/streams/download'),
  ],
  dearest: { path: '/score' },
}
