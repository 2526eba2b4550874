import type { AppDefinition } from '../runner/definition.ts'
import { echoed, inPieces, UPSTREAM_IN_PIECES } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }

export const app: AppDefinition = {
  title: 'Node-RED',
  main: 'node-red',
  run: ['node_modules/node-red/red.js', '--settings', 'settings.cjs'],
  upstream: UPSTREAM_IN_PIECES,
  ready: '/hello',
  paths: [
    { path: '/hello' },
    { path: '/json/stranger?a=1' },
    { path: '/page?name=Tide' },
    { path: '/broken' },
    { path: '/missing' },
    { path: '/score' },
    { method: 'POST', path: '/echo', headers: json, body: '{"a":1}' },
    { method: 'POST', path: '/echo', headers: json, body: '{"a":' },
    { method: 'POST', path: '/echo', headers: { 'Content-Type': 'text/plain' }, body: 'plain' },
    { path: '/admin/' },
    { path: '/admin/settings' },
    { path: '/admin/flows' },
    { path: '/admin/nodes', headers: { Accept: 'application/json' } },
    { path: '/admin/red/red.min.js' },
  ],
  // The hash in the URLs of the editor's scripts, and the time in the editor's heartbeat.
  volatile: [/\?v=[0-9a-f]{12}/, /"data":\d{13}/],
  streams: [
    echoed('WebSocket of a flow, silent for 12 s', '/ws/echo'),
    {
      kind: 'websocket',
      name: "the editor's WebSocket, for 20 s",
      path: '/admin/comms',
      steps: [{ pauseMs: 20_000 }, { expect: /hb/ }],
    },
    inPieces('SSE of a flow, silences of 12 s', { path: '/sse' }, /^data:/),
    // Three pieces with two silences of 12 s.
    { kind: 'long-poll', name: 'flow that asks a slow service', ask: { path: '/fetched' }, waitMs: 24_000 },
    { kind: 'long-poll', name: 'flow that waits 15 s', ask: { path: '/long' }, waitMs: 15_000 },
    {
      kind: 'upload',
      name: 'multipart upload of 20 s',
      ask: { method: 'POST', path: '/upload', headers: { 'Content-Type': 'multipart/form-data; boundary=meltproof' } },
      body: () =>
        Buffer.from(
          '--meltproof\r\nContent-Disposition: form-data; name="file"; filename="slow.txt"\r\n' +
            `Content-Type: text/plain\r\n\r\n${'slow '.repeat(200_000)}\r\n--meltproof--\r\n`,
        ),
      overMs: 20_000,
    },
  ],
  dearest: { path: '/score' },
}
