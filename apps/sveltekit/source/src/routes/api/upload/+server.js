import { createHash } from 'node:crypto'

export async function POST({ request }) {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of request.body) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return Response.json({ bytes, sha256: hash.digest('hex') })
}
