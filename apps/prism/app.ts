import type { AppDefinition } from '../runner/definition.ts'

const key = { 'X-Api-Key': 'any' }
const json = { ...key, 'Content-Type': 'application/json' }
const multipart = { ...key, 'Content-Type': 'multipart/form-data; boundary=meltproof' }
const part = (name: string, value: string): string =>
  `--meltproof\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const order = (pets: number): string =>
  JSON.stringify({
    customer: 'stranger@example.com',
    pets: Array.from({ length: pets }, (_, id) => ({ id, name: `Pet ${id}`, kind: 'cat', tags: ['small', 'grey'] })),
  })

export const app: AppDefinition = {
  title: 'Prism',
  main: '@stoplight/prism-cli',
  run: [
    'node_modules/@stoplight/prism-cli/dist/index.js',
    ...['mock', '--host', '127.0.0.1', '--port', '{port}', '--multiprocess', 'false', 'api.yaml'],
  ],
  ready: '/health',
  paths: [
    { path: '/health' },
    { path: '/pets', headers: key },
    { path: '/pets' },
    { path: '/pets?limit=3&kind=cat', headers: key },
    { path: '/pets?limit=many', headers: key },
    { path: '/pets?kind=whale', headers: key },
    { path: '/pets/7', headers: key },
    { path: '/pets/7', headers: { ...key, Prefer: 'example=dog' } },
    { path: '/pets/7', headers: { ...key, Prefer: 'code=404' } },
    { path: '/pets/7', headers: { ...key, Prefer: 'code=418' } },
    { path: '/pets/7', headers: { ...key, Accept: 'application/xml' } },
    { path: '/pets/7', headers: { ...key, Accept: 'image/png' } },
    { path: '/pets/seven', headers: key },
    { method: 'HEAD', path: '/pets/7', headers: key },
    { method: 'PUT', path: '/pets/7', headers: key },
    { method: 'DELETE', path: '/pets/7', headers: key },
    { method: 'POST', path: '/orders', headers: json, body: order(2) },
    { method: 'POST', path: '/orders', headers: json, body: order(0) },
    { method: 'POST', path: '/orders', headers: json, body: '{"customer":7}' },
    // Truncated JSON is not sent, because Prism never answers it.
    { method: 'POST', path: '/orders', headers: key },
    { method: 'POST', path: '/orders', headers: { ...key, 'Content-Type': 'text/plain' }, body: 'two cats' },
    {
      method: 'POST',
      path: '/forms',
      headers: { ...key, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'name=Tide&age=7',
    },
    { method: 'POST', path: '/files', headers: multipart, body: `${part('name', 'Tide')}--meltproof--\r\n` },
    { path: '/missing' },
    { method: 'OPTIONS', path: '/pets', headers: { Origin: 'http://elsewhere.example' } },
  ],
  streams: [
    {
      kind: 'upload',
      name: 'order sent over 20 s',
      ask: { method: 'POST', path: '/orders', headers: json },
      body: () => Buffer.from(order(3000)),
      overMs: 20_000,
    },
    {
      kind: 'upload',
      name: 'multipart upload of 20 s',
      ask: { method: 'POST', path: '/files', headers: multipart },
      body: () => Buffer.from(`${part('name', 'Tide')}${part('file', 'slow '.repeat(100_000))}--meltproof--\r\n`),
      overMs: 20_000,
    },
  ],
  // Prism generates a new list from the schema for each request, and checks the list against the schema.
  dearest: { path: '/pets?limit=20', headers: { ...key, Prefer: 'dynamic=true' } },
}
