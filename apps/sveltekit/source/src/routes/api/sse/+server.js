import { setTimeout as sleep } from 'node:timers/promises'

async function* events() {
  for (let n = 1; n <= 3; n++) {
    yield new TextEncoder().encode(`data: ${n}\n\n`)
    await sleep(12_000)
  }
}

export const GET = () =>
  new Response(ReadableStream.from(events()), { headers: { 'Content-Type': 'text/event-stream' } })
