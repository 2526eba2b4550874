/**
 * A server whose requests hold memory: `node memory-server.ts ARM KIND MELTPROOF`. ARM is `bare` or `protected`,
 * MELTPROOF the path of the runtime to load. Sends its port, and its figures in answer to each message.
 */
import http, { type IncomingMessage, type RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { protect as Protect } from '../../packages/meltproof/src/index.ts'

/** Time that each request waits for its dependency, ms. */
const HOLDS_MS = 6000
const ANSWER_BYTES = 4 * 1024 * 1024
const OBJECTS = 12_000

const [arm = 'bare', kind = 'bodies', meltproof = ''] = process.argv.slice(2)

async function bodyOf(request: IncomingMessage): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks
}

const holdsBody: RequestListener = (request, response) => {
  void bodyOf(request)
    .then(async chunks => {
      await sleep(HOLDS_MS)
      response.end(String(chunks.reduce((bytes, chunk) => bytes + chunk.length, 0)))
    })
    .catch(() => response.destroy())
}

const KINDS: Readonly<Record<string, RequestListener>> = {
  bodies: holdsBody,
  pipelined: holdsBody,
  /** Holds about a megabyte of live objects. */
  heap: (_, response) => {
    const rows = Array.from({ length: OBJECTS }, (_row, id) => ({ id, name: `row ${id}`, tags: [id, id + 1] }))
    void sleep(HOLDS_MS).then(() => response.end(String(rows.length)))
  },
  answers: (_, response) => void response.end(Buffer.alloc(ANSWER_BYTES, 'x')),
}

const handler = KINDS[kind]
if (handler === undefined) throw new Error(`unknown kind ${kind}; known: ${Object.keys(KINDS).join(', ')}`)
const server = http.createServer((request, response) => {
  if (request.url === '/ping') response.end('pong')
  else handler(request, response)
})
const { protect } = (await import(meltproof)) as { protect: typeof Protect }
const guard = arm === 'bare' ? undefined : protect(server)
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as { port: number }).port }))
process.on('message', () => process.send!({ shed: guard?.stats().shed, explain: guard?.explain() }))
process.on('disconnect', () => process.exit())
