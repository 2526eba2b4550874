// Writes a configuration and a package with many versions, and then runs the command of Verdaccio.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const VERSIONS = 150
const data = process.env.DATA
const many = join(data, 'storage/many')
mkdirSync(many, { recursive: true })
writeFileSync(
  join(data, 'config.yaml'),
  `
storage: ${join(data, 'storage')}
auth:
  htpasswd:
    file: ${join(data, 'htpasswd')}
uplinks:
  another:
    url: ${process.env.UPSTREAM}
packages:
  uplinked:
    access: $all
    proxy: another
  '**':
    access: $all
    publish: $authenticated
max_body_size: 100mb
log: { type: stdout, format: json, level: warn }
`,
)
const versions = Array.from({ length: VERSIONS }, (_, n) => `1.${n}.0`)
const time = '2026-01-01T00:00:00.000Z'
const tarball = Buffer.alloc(32 << 20, 'verdaccio ')
const shasum = createHash('sha1').update(tarball).digest('hex')
writeFileSync(join(many, 'many-1.0.0.tgz'), tarball)
writeFileSync(
  join(many, 'package.json'),
  JSON.stringify({
    name: 'many',
    _id: 'many',
    _rev: '1-1',
    'dist-tags': { latest: versions.at(-1) },
    time: Object.fromEntries(['created', 'modified', ...versions].map(what => [what, time])),
    versions: Object.fromEntries(
      versions.map(version => [
        version,
        {
          name: 'many',
          version,
          description: 'a package of many versions',
          dependencies: Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`dependency-${n}`, `^${n}.0.0`])),
          dist: { shasum, tarball: `http://localhost:4873/many/-/many-${version}.tgz` },
          _id: `many@${version}`,
        },
      ]),
    ),
    users: {},
    readme: '# many',
    _attachments: { 'many-1.0.0.tgz': { shasum } },
    _distfiles: {},
    _uplinks: {},
  }),
)
process.argv = [
  ...process.argv.slice(0, 2),
  '--listen',
  `127.0.0.1:${process.env.PORT}`,
  '--config',
  join(data, 'config.yaml'),
]
createRequire(import.meta.url)('./node_modules/verdaccio/bin/verdaccio')
