import type { AppDefinition } from '../runner/definition.ts'
import { slowDownload } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }

export const app: AppDefinition = {
  title: 'json-server',
  main: 'json-server',
  build: [['make-large.mjs']],
  run: [
    'node_modules/json-server/lib/cli/bin.js',
    ...['--quiet', '--host', '127.0.0.1', '--port', '{port}', '--static', 'public', 'database.cjs'],
  ],
  ready: '/profile',
  paths: [
    { path: '/' },
    { path: '/posts/1' },
    { path: '/posts?_page=2&_limit=10' },
    { path: '/posts?_sort=title&_order=desc&_limit=5' },
    { path: '/posts?authorId=3&_embed=comments' },
    { path: '/posts?q=goodput' },
    { path: '/authors/3/posts' },
    { path: '/missing' },
    { path: '/posts/99999' },
    { method: 'HEAD', path: '/posts' },
    { method: 'OPTIONS', path: '/posts', headers: { Origin: 'http://elsewhere.example' } },
    { method: 'POST', path: '/posts', headers: json, body: '{"id":1001,"title":"new"}' },
    { method: 'POST', path: '/posts', headers: json, body: '{"id":1001,' },
    { method: 'PUT', path: '/posts/1001', headers: json, body: '{"title":"put"}' },
    { method: 'PATCH', path: '/posts/1001', headers: json, body: '{"body":"patched"}' },
    { path: '/posts/1001' },
    { method: 'DELETE', path: '/posts/1001' },
    { path: '/large.bin', headers: { Range: 'bytes=100-199' } },
  ],
  // The error page for a body that is not JSON shows paths of modules.
  volatile: [/\(?\/[^\s<)]*node_modules[^\s<)]*\)?/],
  streams: [
    {
      kind: 'upload',
      name: 'post sent over 20 s',
      ask: { method: 'POST', path: '/posts', headers: json },
      body: () => Buffer.from(JSON.stringify({ id: 2002, body: 'slow '.repeat(60_000) })),
      overMs: 20_000,
    },
    slowDownload('/large.bin'),
  ],
  dearest: { path: '/posts?q=goodput' },
}
