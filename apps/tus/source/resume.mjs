// The official tus client stops in the middle of an upload, and resumes at the same byte after a silence.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as tus from 'tus-js-client'

const SILENCE_MS = 12_000
const CHUNK = 100_000
const CHUNKS = 10
const endpoint = new URL('/files', process.env.ORIGIN).href
const body = Buffer.alloc(CHUNK * CHUNKS, 'resumed ')

await new Promise((resolve, reject) => {
  const upload = new tus.Upload(body, {
    endpoint,
    chunkSize: CHUNK,
    retryDelays: [],
    metadata: { name: 'resumed', filetype: 'text/plain' },
    onError: reject,
    onSuccess: resolve,
    async onChunkComplete(_size, accepted) {
      if (accepted !== 4 * CHUNK) return
      await upload.abort()
      console.log(`stopped after ${accepted} bytes`)
      await sleep(SILENCE_MS)
      upload.start()
    },
  })
  upload.start()
})
const answer = await fetch(`${endpoint}/resumed`)
const bytes = Buffer.from(await answer.arrayBuffer())
const hash = of => createHash('sha256').update(of).digest('hex')
console.log(answer.status, bytes.length, hash(bytes) === hash(body))
