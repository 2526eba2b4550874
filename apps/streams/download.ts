/** A body that a slow client reads. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Conversation, GRACE_MS } from './outcome.ts'

const PIECES = 200

export const download: Conversation<'download'> = async ({ ask, bytes, overMs }, { asker }) => {
  const request = asker.open(ask, { agent: false })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('error', reject)
    request.once('response', resolve)
    request.end()
  })
  let broken: Error | undefined
  response.once('error', error => {
    broken = error
  })
  const hash = createHash('sha256')
  let read = 0
  const started = Date.now()
  const share = Math.ceil(bytes / PIECES)
  while (!response.readableEnded && broken === undefined) {
    const due = (Math.floor((Date.now() - started) / (overMs / PIECES)) + 1) * share
    while (read < due) {
      const chunk = response.read() as Buffer | null
      if (chunk === null) break
      hash.update(chunk)
      read += chunk.length
    }
    if (Date.now() - started > overMs + GRACE_MS) broken = new Error('it took too long')
    await sleep(overMs / PIECES / 2)
  }
  request.destroy()
  const told = `${read} bytes in ${Date.now() - started} ms, status ${response.statusCode}`
  if (broken !== undefined) throw new Error(`${broken.message} after ${told}`)
  if (read < bytes) throw new Error(`only ${told}`)
  return `${response.statusCode} ${read} bytes, sha256 ${hash.digest('hex')}`
}
