import type { AppDefinition, Ask } from '../runner/definition.ts'

const json = { 'Content-Type': 'application/json' }
const put = (path: string, body: object = {}): Ask => ({
  method: 'PUT',
  path,
  headers: json,
  body: JSON.stringify(body),
})
const many = Array.from({ length: 100 }, (_, n) => ({ _id: `doc-${n}`, title: `Title ${n}`, body: 'text '.repeat(40) }))

export const app: AppDefinition = {
  title: 'express-pouchdb',
  main: 'express-pouchdb',
  run: ['server.cjs'],
  ready: '/',
  paths: [
    { path: '/' },
    put('/people'),
    put('/people'),
    put('/people/tide', { name: 'Tide' }),
    put('/people/tide', { name: 'Conflict' }),
    { path: '/people/tide', keep: { rev: /"_rev":"([^"]+)"/ } },
    { path: '/people/nobody' },
    { method: 'DELETE', path: '/people/tide?rev={rev}' },
    put('/many'),
    { method: 'POST', path: '/many/_bulk_docs', headers: json, body: JSON.stringify({ docs: many }) },
    { path: '/many' },
    { path: '/many/_all_docs?limit=5' },
    { path: '/many/_all_docs?include_docs=true' },
    { path: '/many/_changes?limit=5' },
    put('/many/_design/titles', { views: { all: { map: 'function (doc) { emit(doc.title) }' } } }),
    { path: '/many/_design/titles/_view/all?limit=3' },
    { method: 'POST', path: '/many/_find', headers: json, body: '{"selector":{"_id":{"$gt":"doc-97"}}}' },
    { method: 'PUT', path: '/many/with/file.txt', headers: { 'Content-Type': 'text/plain' }, body: 'attached' },
    { path: '/many/with/file.txt' },
    { path: '/_all_dbs' },
    { path: '/_session' },
    { path: '/missing/doc' },
    { method: 'POST', path: '/many', headers: json, body: '{"a":' },
  ],
  volatile: [/"instance_start_time":"\d+"/, /"uuid":"[^"]+"/],
  streams: [
    {
      kind: 'long-poll',
      name: '_changes, long poll of 15 s',
      before: [put('/polled')],
      ask: { path: '/polled/_changes?feed=longpoll&since=now' },
      meanwhile: { afterMs: 15_000, ask: put('/polled/late') },
      waitMs: 15_000,
    },
    {
      kind: 'lines',
      name: '_changes, continuous, silent for 13 s',
      before: [put('/followed'), put('/followed/early')],
      ask: { path: '/followed/_changes?feed=continuous&since=0' },
      meanwhile: { afterMs: 13_000, ask: put('/followed/late') },
      line: /"id"/,
      count: 2,
      silenceMs: 12_000,
    },
    { kind: 'program', name: 'replication with silences of 14 s', run: ['replication.mjs'] },
    {
      kind: 'upload',
      name: 'attachment sent over 20 s',
      before: [put('/up')],
      ask: { method: 'PUT', path: '/up/doc/file.txt', headers: { 'Content-Type': 'text/plain' } },
      body: () => Buffer.alloc(1_000_000, 'upload '),
      overMs: 20_000,
    },
    {
      kind: 'download',
      name: 'attachment read over 20 s',
      before: [
        put('/down'),
        {
          method: 'PUT',
          path: '/down/doc/file.txt',
          headers: { 'Content-Type': 'text/plain' },
          body: 'download '.repeat(2_400_000),
        },
      ],
      ask: { path: '/down/doc/file.txt' },
      bytes: 9 * 2_400_000,
      overMs: 20_000,
    },
  ],
  dearest: { path: '/many/_all_docs?include_docs=true' },
}
