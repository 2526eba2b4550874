import { setTimeout as sleep } from 'node:timers/promises'
import { defineEventHandler, sendStream, setHeader } from 'h3'

export default defineEventHandler(event => {
  setHeader(event, 'Content-Type', 'application/x-ndjson')
  const pieces = async function* () {
    for (let n = 1; n <= 3; n++) {
      yield new TextEncoder().encode(`${JSON.stringify({ n })}\n`)
      await sleep(12_000)
    }
  }
  return sendStream(event, ReadableStream.from(pieces()))
})
