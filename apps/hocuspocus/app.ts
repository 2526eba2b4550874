import type { AppDefinition, Ask } from '../runner/definition.ts'

const text = { 'Content-Type': 'text/plain' }
const append = (name: string, body: string): Ask => ({
  method: 'POST',
  path: `/documents/${name}`,
  headers: text,
  body,
})

export const app: AppDefinition = {
  title: 'Hocuspocus',
  main: '@hocuspocus/server',
  run: ['server.mjs'],
  ready: '/',
  paths: [
    { path: '/' },
    { path: '/documents/empty' },
    append('notes', 'first line\n'),
    append('notes', 'second line\n'),
    { path: '/documents/notes' },
    { path: '/documents/notes?as=html' },
    { method: 'HEAD', path: '/documents/notes' },
    { method: 'DELETE', path: '/documents/notes' },
    { path: '/documents/Not%20A%20Name' },
    append('long', 'A line of a <long> document & more.\n'.repeat(500)),
    { path: '/documents/long?as=html' },
    { path: '/missing' },
  ],
  pathsProgram: ['edit.mjs'],
  streams: [
    { kind: 'program', name: 'two people, silent for 14 s', run: ['together.mjs'] },
    { kind: 'program', name: 'update of 4 MB', run: ['large.mjs'] },
    {
      kind: 'upload',
      name: 'text sent over 20 s',
      ask: append('slow', ''),
      body: () => Buffer.alloc(500_000, 'upload '),
      overMs: 20_000,
    },
  ],
  // Each request loads, reads and closes the document, because no other client has it open.
  dearest: { path: '/documents/long?as=html' },
}
