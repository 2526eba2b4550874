import { createHash } from 'node:crypto'
import type { AppDefinition, Ask } from '../runner/definition.ts'

const json = { 'Content-Type': 'application/json' }
const owner = { ...json, Authorization: 'Bearer {token}' }

const user = (name: string): Ask => ({
  method: 'PUT',
  path: `/-/user/org.couchdb.user:${name}`,
  headers: json,
  body: JSON.stringify({ name, password: 'a long password' }),
  keep: { token: /"token":\s*"([^"]+)"/ },
})

/** The body that `npm publish` sends. */
function published(name: string, bytes: number): string {
  const tarball = Buffer.alloc(bytes, 'package ')
  const file = `${name}-1.0.0.tgz`
  const dist = {
    shasum: createHash('sha1').update(tarball).digest('hex'),
    integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    tarball: `http://localhost/${name}/-/${file}`,
  }
  return JSON.stringify({
    _id: name,
    name,
    'dist-tags': { latest: '1.0.0' },
    versions: { '1.0.0': { name, version: '1.0.0', description: 'published', _id: `${name}@1.0.0`, dist } },
    access: null,
    _attachments: {
      [file]: {
        content_type: 'application/octet-stream',
        data: tarball.toString('base64'),
        length: tarball.length,
      },
    },
  })
}

export const app: AppDefinition = {
  title: 'Verdaccio',
  main: 'verdaccio',
  run: ['start.mjs'],
  upstream: ['upstream.mjs'],
  ready: '/-/ping',
  paths: [
    { path: '/-/ping' },
    { path: '/', headers: { Accept: 'text/html' } },
    user('stranger'),
    { path: '/-/whoami', headers: owner },
    { method: 'PUT', path: '/published', headers: owner, body: published('published', 20_000) },
    { method: 'PUT', path: '/published', headers: owner, body: published('published', 20_000) },
    { method: 'PUT', path: '/unowned', headers: json, body: published('unowned', 100) },
    { path: '/published' },
    { path: '/published/1.0.0' },
    { path: '/published/-/published-1.0.0.tgz' },
    { path: '/-/package/published/dist-tags' },
    { path: '/-/v1/search?text=many' },
    { path: '/many' },
    { path: '/many', headers: { Accept: 'application/vnd.npm.install-v1+json' } },
    { path: '/many', headers: { 'Accept-Encoding': 'gzip' } },
    { path: '/uplinked' },
    { path: '/missing' },
    { method: 'PUT', path: '/broken', headers: owner, body: '{"a":' },
  ],
  volatile: [/"_rev":\s*"[^"]+"/, /"token":\s*"[^"]+"/],
  streams: [
    {
      kind: 'upload',
      name: 'publish of 20 s',
      before: [user('slow')],
      ask: { method: 'PUT', path: '/slow', headers: owner },
      body: () => Buffer.from(published('slow', 1_000_000)),
      overMs: 20_000,
    },
    {
      kind: 'download',
      name: 'tarball read over 20 s',
      ask: { path: '/many/-/many-1.0.0.tgz' },
      bytes: 32 << 20,
      overMs: 20_000,
    },
    {
      kind: 'download',
      name: 'tarball of another registry, silent for 12 s',
      before: [{ path: '/uplinked' }],
      ask: { path: '/uplinked/-/uplinked-1.0.0.tgz' },
      bytes: 200_000,
      overMs: 14_000,
    },
  ],
  dearest: { path: '/many' },
}
