import type { AppDefinition, Ask } from '../runner/definition.ts'

const poll = '/socket.io/?EIO=4&transport=polling'
const text = { 'Content-Type': 'text/plain;charset=UTF-8' }
const connect: readonly Ask[] = [
  { path: poll, keep: { sid: /"sid":"([^"]+)"/ } },
  { method: 'POST', path: `${poll}&sid={sid}`, headers: text, body: '40' },
  { path: `${poll}&sid={sid}` },
]

export const app: AppDefinition = {
  title: 'socket.io',
  main: 'socket.io',
  run: ['server.mjs'],
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/missing' },
    { path: '/socket.io/socket.io.js' },
    ...connect,
    { method: 'POST', path: `${poll}&sid={sid}`, headers: text, body: '42["echo","hello"]' },
    { path: `${poll}&sid={sid}` },
    { path: '/socket.io/?EIO=4&transport=pigeon' },
    { path: `${poll}&sid=nobody` },
    { method: 'OPTIONS', path: poll },
  ],
  volatile: [/"sid":"[^"]+"/],
  streams: [
    {
      kind: 'websocket',
      name: 'WebSocket, silent for 12 s',
      path: '/socket.io/?EIO=4&transport=websocket',
      pong: { ping: '2', pong: '3' },
      steps: [
        { expect: /^0\{/ },
        { send: '40' },
        { expect: /^40/ },
        { send: '42["echo","before"]' },
        { expect: /"before"/ },
        { pauseMs: 12_000 },
        { send: '42["echo","after"]' },
        { expect: /"after"/ },
        { send: '42["later",12000]' },
        { expect: /"done"/ },
      ],
    },
    {
      kind: 'long-poll',
      name: 'long poll of 15 s',
      before: [...connect, { method: 'POST', path: `${poll}&sid={sid}`, headers: text, body: '42["later",15000]' }],
      ask: { path: `${poll}&sid={sid}` },
      waitMs: 15_000,
    },
    {
      kind: 'upload',
      name: 'message sent over 20 s',
      before: connect,
      ask: { method: 'POST', path: `${poll}&sid={sid}`, headers: text },
      body: () => Buffer.from(`42["size","${'x'.repeat(400_000)}"]`),
      overMs: 20_000,
    },
  ],
  dearest: { path: poll },
}
