import type { AppDefinition } from '../runner/definition.ts'
import { inPieces, longPoll, slowDownload, slowUpload, UPSTREAM_IN_PIECES } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'http://stranger.example' }

export const app: AppDefinition = {
  title: 'SvelteKit, adapter-node',
  main: '@sveltejs/kit',
  build: [['node_modules/vite/bin/vite.js', 'build']],
  run: ['build/index.js'],
  // The default of 512 KB is too small for the upload.
  env: { BODY_SIZE_LIMIT: '10M' },
  upstream: UPSTREAM_IN_PIECES,
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/', headers: { 'Accept-Encoding': 'gzip' } },
    { path: '/about' },
    { path: '/about', headers: { 'Accept-Encoding': 'gzip' } },
    { path: '/dear' },
    { path: '/user/7' },
    { path: '/user/7/__data.json' },
    { path: '/user/nobody' },
    { path: '/user/old' },
    { path: '/broken' },
    { path: '/broken', headers: { Accept: 'application/json' } },
    { path: '/missing' },
    { path: '/hello.txt', headers: { Range: 'bytes=0-4' } },
    { path: '/guestbook' },
    { method: 'POST', path: '/guestbook', headers: form, body: 'name=Tide' },
    { method: 'POST', path: '/guestbook', headers: form, body: 'name=' },
    { method: 'POST', path: '/guestbook', headers: { ...form, Accept: 'application/json' }, body: 'name=Ebb' },
    {
      method: 'POST',
      path: '/guestbook',
      headers: { ...form, Origin: 'http://elsewhere.example' },
      body: 'name=Flood',
    },
    { path: '/guestbook', headers: { Cookie: 'name=Tide' } },
    { path: '/api/echo?a=1' },
    { method: 'POST', path: '/api/echo', headers: json, body: '{"a":1}' },
    { method: 'POST', path: '/api/echo', headers: json, body: '{"a":' },
    { method: 'DELETE', path: '/api/echo' },
    { method: 'HEAD', path: '/' },
  ],
  streams: [
    {
      kind: 'lines',
      name: 'page with a late promise, 12 s',
      ask: { path: '/slow' },
      separator: '</',
      line: /<h1>at once|<p>waiting|late by 12/,
      count: 3,
      // The timer of 12 s starts before the first piece is sent, so the silence is shorter.
      silenceMs: 10_000,
    },
    inPieces('SSE, silences of 12 s', { path: '/api/sse' }, /^data:/),
    inPieces('ndjson, pauses of 12 s', { path: '/api/ndjson' }, /^\{/),
    inPieces('route that streams a fetch, ndjson', { path: '/api/proxied?path=/ndjson' }, /^\{/),
    inPieces('route that streams a fetch, SSE', { path: '/api/proxied?path=/sse' }, /^data:/),
    longPoll('/api/long'),
    slowUpload('/api/upload', { 'Content-Type': 'application/octet-stream' }),
    slowDownload('/api/download'),
  ],
  dearest: { path: '/dear' },
}
