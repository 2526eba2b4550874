import type { AppDefinition } from '../runner/definition.ts'

const json = { 'Content-Type': 'application/json' }
const multipart = { 'Content-Type': 'multipart/form-data; boundary=meltproof' }
const file = (text: string): string =>
  '--meltproof\r\nContent-Disposition: form-data; name="files"; filename="file.txt"\r\n' +
  `Content-Type: text/plain\r\n\r\n${text}\r\n--meltproof--\r\n`

export const app: AppDefinition = {
  title: 'Strapi',
  main: '@strapi/strapi',
  run: ['node_modules/@strapi/strapi/bin/strapi.js', 'start'],
  env: { STRAPI_TELEMETRY_DISABLED: 'true' },
  ready: '/_health',
  paths: [
    { path: '/_health' },
    { path: '/api/articles' },
    { path: '/api/articles?filters[rank][$gt]=195&sort=rank:desc' },
    { path: '/api/articles?pagination[page]=3&pagination[pageSize]=5&fields[0]=title' },
    {
      method: 'POST',
      path: '/api/articles',
      headers: json,
      body: '{"data":{"title":"New","rank":999}}',
      keep: { id: /"documentId":"([^"]+)"/ },
    },
    { path: '/api/articles/{id}' },
    { method: 'PUT', path: '/api/articles/{id}', headers: json, body: '{"data":{"title":"Renamed"}}' },
    { method: 'DELETE', path: '/api/articles/{id}' },
    { path: '/api/articles/{id}' },
    { method: 'POST', path: '/api/articles', headers: json, body: '{"data":{}}' },
    { method: 'POST', path: '/api/articles', headers: json, body: '{"data":' },
    { method: 'POST', path: '/api/upload', headers: multipart, body: file('a small file') },
    { method: 'POST', path: '/api/auth/local', headers: json, body: '{"identifier":"nobody","password":"wrong"}' },
    { path: '/api/users/me' },
    { path: '/missing' },
    { path: '/uploads/large.bin', headers: { Range: 'bytes=100-199' } },
  ],
  volatile: [/"documentId":"[^"]+"/, /_[0-9a-f]{10}\b/],
  streams: [
    {
      kind: 'upload',
      name: 'multipart upload of 20 s',
      ask: { method: 'POST', path: '/api/upload', headers: multipart },
      body: () => Buffer.from(file('slow '.repeat(200_000))),
      overMs: 20_000,
    },
    {
      kind: 'download',
      name: 'file read over 20 s',
      ask: { path: '/uploads/large.bin' },
      bytes: 32 << 20,
      overMs: 20_000,
    },
  ],
  dearest: { path: '/api/articles?pagination[pageSize]=50&sort=title:desc' },
}
