import { Readable } from 'node:stream'
import { defineEventHandler, sendStream, setHeader } from 'h3'

const block = Buffer.alloc(1 << 20, 'nitro ')

export default defineEventHandler(event => {
  setHeader(event, 'Content-Length', 32 << 20)
  return sendStream(event, Readable.from(Array.from({ length: 32 }, () => block)))
})
