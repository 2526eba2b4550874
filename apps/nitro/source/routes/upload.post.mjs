import { createHash } from 'node:crypto'
import { defineEventHandler, readRawBody } from 'h3'

export default defineEventHandler(async event => {
  const body = await readRawBody(event, false)
  return { bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }
})
