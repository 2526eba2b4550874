import type { AppDefinition, Ask } from '../runner/definition.ts'
import { inPieces } from '../runner/usual-streams.ts'

const json = { 'Content-Type': 'application/json' }
const post = (query: string, variables?: object): Ask => ({
  method: 'POST',
  path: '/graphql',
  headers: json,
  body: JSON.stringify({ query, variables }),
})

export const app: AppDefinition = {
  title: 'GraphQL Yoga',
  main: 'graphql-yoga',
  run: ['server.mjs'],
  ready: '/health',
  paths: [
    { path: '/health' },
    { path: '/graphql', headers: { Accept: 'text/html' } },
    { path: `/graphql?query=${encodeURIComponent('{ people(first: 2) { id name friend { name } } }')}` },
    post('{ people { id name friend { friend { name } } } }'),
    post('query Q($id: ID!) { person(id: $id) { name } }', { id: '7' }),
    post('mutation { rename(id: "7", name: "Renamed") { id name } }'),
    post('{ person(id: "7") { name } }'),
    post('{ broken }'),
    post('{ unknown }'),
    post('{ people {'),
    post('{ __schema { types { name } } }'),
    { method: 'POST', path: '/graphql', headers: json, body: 'no json' },
    { method: 'OPTIONS', path: '/graphql', headers: { Origin: 'http://elsewhere.example' } },
    { path: '/missing' },
  ],
  streams: [
    inPieces(
      'subscription over SSE, silences of 12 s',
      {
        ...post('subscription { ticks(count: 3, everyMs: 12000) }'),
        headers: { ...json, Accept: 'text/event-stream' },
      },
      /^data:.*ticks/,
    ),
    { kind: 'long-poll', name: 'query of 15 s', ask: post('{ later(ms: 15000) }'), waitMs: 15_000 },
    {
      kind: 'upload',
      name: 'multipart upload of 20 s',
      ask: {
        method: 'POST',
        path: '/graphql',
        headers: { 'Content-Type': 'multipart/form-data; boundary=meltproof', 'x-graphql-yoga-csrf': 'true' },
      },
      body: () => {
        const part = (name: string, value: string, more = ''): string =>
          `--meltproof\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
        const operations = { query: 'mutation($f: File!) { upload(file: $f) }', variables: { f: null } }
        return Buffer.from(
          part('operations', JSON.stringify(operations)) +
            part('map', '{"0":["variables.f"]}') +
            part('0', 'slow '.repeat(100_000), '; filename="slow.txt"\r\nContent-Type: text/plain') +
            '--meltproof--\r\n',
        )
      },
      overMs: 20_000,
    },
  ],
  dearest: post('{ score(of: "stranger") people { name } }'),
}
