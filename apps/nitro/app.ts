import type { AppDefinition } from '../runner/definition.ts'
import { echoed, inPieces, longPoll, slowDownload, slowUpload, UPSTREAM_IN_PIECES } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }

export const app: AppDefinition = {
  title: 'Nitro',
  main: 'nitropack',
  build: [['node_modules/nitropack/dist/cli/index.mjs', 'build']],
  run: ['.output/server/index.mjs'],
  upstream: UPSTREAM_IN_PIECES,
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
    echoed('WebSocket, silent for 12 s', '/ws'),
    inPieces('SSE, silences of 12 s', { path: '/sse' }, /^data:/),
    inPieces('ndjson, pauses of 12 s', { path: '/ndjson' }, /^\{/),
    inPieces('proxied ndjson, pauses of 12 s', { path: '/proxied?path=/ndjson' }, /^\{/),
    longPoll('/long'),
    slowUpload('/upload', { 'Content-Type': 'application/octet-stream' }),
    slowDownload('/download'),
  ],
  dearest: { path: '/score' },
}
