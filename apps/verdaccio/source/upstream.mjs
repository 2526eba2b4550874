// The registry behind Verdaccio: one package, whose tarball arrives in two pieces with 12 s between them.
import { createHash } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const SILENCE_MS = 12_000
const tarball = Buffer.alloc(200_000, 'uplinked ')
const half = tarball.length / 2
const origin = `http://127.0.0.1:${process.env.PORT}`
const manifest = {
  name: 'uplinked',
  'dist-tags': { latest: '1.0.0' },
  time: {
    created: '2026-01-01T00:00:00.000Z',
    modified: '2026-01-01T00:00:00.000Z',
    '1.0.0': '2026-01-01T00:00:00.000Z',
  },
  versions: {
    '1.0.0': {
      name: 'uplinked',
      version: '1.0.0',
      description: 'from another registry',
      dist: {
        shasum: createHash('sha1').update(tarball).digest('hex'),
        tarball: `${origin}/uplinked/-/uplinked-1.0.0.tgz`,
      },
    },
  },
}

const server = http.createServer(async (request, response) => {
  if (request.url === '/uplinked') {
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(manifest))
  }
  if (request.url !== '/uplinked/-/uplinked-1.0.0.tgz') return response.writeHead(404).end('{}')
  response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': tarball.length })
  response.write(tarball.subarray(0, half))
  await sleep(SILENCE_MS)
  response.end(tarball.subarray(half))
})
server.listen(Number(process.env.PORT), '127.0.0.1')
