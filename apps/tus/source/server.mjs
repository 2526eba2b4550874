// A tus server for resumable uploads into a folder. Hooks name the files, refuse one name, and return a checksum.
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'

const directory = join(process.env.DATA, 'files')

const server = new Server({
  path: '/files',
  datastore: new FileStore({ directory }),
  maxSize: 100_000_000,
  namingFunction: (_request, metadata) => metadata?.name ?? randomUUID(),
  async onUploadCreate(_request, upload) {
    if (upload.id === 'refused') throw { status_code: 403, body: 'not this one\n' }
    return {}
  },
  async onUploadFinish(_request, upload) {
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(join(directory, upload.id))) hash.update(chunk)
    return { headers: { 'X-Checksum': hash.digest('hex') } }
  },
})
const http = server.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.on('SIGTERM', () => http.close(() => process.exit(0)))
