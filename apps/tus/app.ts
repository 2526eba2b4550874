import type { AppDefinition, Ask } from '../runner/definition.ts'

const tus = { 'Tus-Resumable': '1.0.0' }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const create = (name: string, length: number, more?: Ask['headers']): Ask => ({
  method: 'POST',
  path: '/files',
  headers: {
    ...tus,
    'Upload-Length': `${length}`,
    'Upload-Metadata': `name ${base64(name)},filetype ${base64('text/plain')}`,
    ...more,
  },
})
const append = (name: string, offset: number, body: string, more?: Ask['headers']): Ask => ({
  method: 'PATCH',
  path: `/files/${name}`,
  headers: { ...tus, 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': `${offset}`, ...more },
  body,
})
const LARGE = 'download '.repeat(2_400_000)

export const app: AppDefinition = {
  title: 'tus',
  main: '@tus/server',
  run: ['server.mjs'],
  paths: [
    { method: 'OPTIONS', path: '/files' },
    create('small', 20),
    { method: 'HEAD', path: '/files/small', headers: tus },
    append('small', 0, 'ten bytes.'),
    { method: 'HEAD', path: '/files/small', headers: tus },
    append('small', 3, 'elsewhere'),
    { path: '/files/small' },
    append('small', 10, 'ten bytes.'),
    { path: '/files/small' },
    { method: 'HEAD', path: '/files/small', headers: tus },
    { ...create('at-once', 12, { 'Content-Type': 'application/offset+octet-stream' }), body: 'twelve bytes' },
    { path: '/files/at-once' },
    create('refused', 12),
    create('too-large', 1e9),
    {
      method: 'POST',
      path: '/files',
      headers: { ...tus, 'Upload-Defer-Length': '1', 'Upload-Metadata': `name ${base64('deferred')}` },
    },
    append('deferred', 0, 'six by', { 'Upload-Length': '6' }),
    { method: 'POST', path: '/files', headers: { ...tus, 'Upload-Length': 'many' } },
    { method: 'POST', path: '/files', headers: { 'Upload-Length': '7' } },
    append('small', 0, 'x', { 'Content-Type': 'text/plain' }),
    append('unknown', 0, 'x'),
    { method: 'DELETE', path: '/files/at-once', headers: tus },
    { method: 'HEAD', path: '/files/at-once', headers: tus },
    { method: 'POST', path: '/files/small', headers: { ...tus, 'X-HTTP-Method-Override': 'HEAD' } },
    { path: '/missing' },
  ],
  streams: [
    {
      kind: 'upload',
      name: 'upload of 20 s',
      before: [create('slow', 2_000_000)],
      ask: append('slow', 0, ''),
      body: () => Buffer.alloc(2_000_000, 'upload '),
      overMs: 20_000,
    },
    {
      kind: 'download',
      name: 'download of 20 s',
      before: [create('large', LARGE.length), append('large', 0, LARGE)],
      ask: { path: '/files/large' },
      bytes: LARGE.length,
      overMs: 20_000,
    },
    { kind: 'program', name: 'upload that is resumed after 12 s', run: ['resume.mjs'] },
  ],
  dearest: {
    method: 'POST',
    path: '/files',
    headers: { ...tus, 'Upload-Length': '4000', 'Content-Type': 'application/offset+octet-stream' },
    body: 'dearest '.repeat(500),
  },
}
