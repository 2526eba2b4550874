import { setTimeout as sleep } from 'node:timers/promises'

async function* pieces() {
  for (let n = 1; n <= 3; n++) {
    yield new TextEncoder().encode(`${JSON.stringify({ n })}\n`)
    await sleep(12_000)
  }
}

export const GET = () =>
  new Response(ReadableStream.from(pieces()), { headers: { 'Content-Type': 'application/x-ndjson' } })
