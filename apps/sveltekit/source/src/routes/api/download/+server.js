const block = new Uint8Array(Buffer.alloc(1 << 20, 'svelte '))

export function GET() {
  let left = 32
  const body = new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(block)
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'Content-Type': 'application/octet-stream' } })
}
