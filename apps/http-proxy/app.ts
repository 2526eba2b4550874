import type { AppDefinition } from '../runner/definition.ts'
import { echoed, inPieces, longPoll, slowDownload, slowUpload } from '../runner/usual-streams.ts'

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
    echoed('WebSocket, silent for 12 s', '/ws'),
    inPieces('SSE, silences of 12 s', { path: '/sse' }, /^data:/),
    inPieces('ndjson, pauses of 12 s', { path: '/ndjson' }, /^\{/),
    inPieces('JSON in pieces, pauses of 12 s', { path: '/json-in-pieces' }, /^\d/),
    inPieces('plain text in pieces, pauses of 12 s', { path: '/plain-in-pieces' }, /^\d/),
    longPoll('/long'),
    slowUpload('/echo'),
    slowDownload('/download'),
  ],
  dearest: { path: '/work' },
}
