// Hono on its adapter for Node, with much of its own middleware and all of its streaming helpers.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve, upgradeWebSocket } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { getCookie, setCookie } from 'hono/cookie'
import { cors } from 'hono/cors'
import { etag } from 'hono/etag'
import { html } from 'hono/html'
import { HTTPException } from 'hono/http-exception'
import { jwt, sign } from 'hono/jwt'
import { proxy } from 'hono/proxy'
import { secureHeaders } from 'hono/secure-headers'
import { stream, streamSSE, streamText } from 'hono/streaming'
import { timeout } from 'hono/timeout'
import { validator } from 'hono/validator'
import { WebSocketServer } from 'ws'

const SECRET = 'a secret of 32 letters, and more.'
const SILENCE_MS = 12_000
const block = new Uint8Array(Buffer.alloc(1 << 20, 'hono '))
const rows = Array.from({ length: 500 }, (_, n) => ({ id: n, name: `<Person ${n}>`, score: (n * 7919) % 1009 }))

const app = new Hono()
app.use(secureHeaders())
app.use('/hello/*', cors())
app.use('/', compress())
app.use('/private/*', compress())
app.use('/private/*', jwt({ secret: SECRET, alg: 'HS256' }))
app.use('/etag', etag())
app.use('/in-time', timeout(5000))
app.use('/too-late', timeout(200))
app.use('/static/*', serveStatic({ root: './' }))

const table = c =>
  c.html(html`<!doctype html>
    <table>
      ${rows.map(row => html`<tr><td>${row.id}</td><td>${row.name}</td><td>${row.score}</td></tr>`)}
    </table>`)

app.get('/', c => c.html(`<h1>Hono says hello</h1>${'<p>again</p>'.repeat(200)}`))
app.get('/hello/:name', c => c.json({ name: c.req.param('name'), query: c.req.queries() }))
app.get('/moved', c => c.redirect('/'))
app.get('/cookies', c => {
  setCookie(c, 'seen', `${Number(getCookie(c, 'seen') ?? 0) + 1}`, { httpOnly: true, path: '/' })
  setCookie(c, 'another', 'one', { maxAge: 60 })
  return c.text('set')
})
app.post(
  '/login',
  validator('json', value => {
    if (typeof value.name !== 'string') throw new HTTPException(422, { message: 'a name is needed' })
    return value
  }),
  async c => c.json({ token: await sign({ sub: c.req.valid('json').name }, SECRET, 'HS256') }),
)
app.get('/private/me', c => c.json(c.get('jwtPayload')))
app.get('/private/table', table)
app.get('/table', table)
app.get('/etag', c => c.text('the same every time'))
app.get('/in-time', async c => c.text(await sleep(50, 'in time')))
app.get('/too-late', async c => c.text(await sleep(2000, 'too late')))
app.get('/broken', () => {
  throw new Error('broken on purpose')
})
app.get('/direct', c => {
  c.env.outgoing.writeHead(200, { 'Content-Type': 'text/plain' })
  c.env.outgoing.end("by Node's own response\n")
  return RESPONSE_ALREADY_SENT
})

app.get('/sse', c =>
  streamSSE(c, async events => {
    for (let n = 1; n <= 3; n++) {
      await events.writeSSE({ data: `${n}`, event: 'tick', id: `${n}` })
      await events.sleep(SILENCE_MS)
    }
  }),
)
app.get('/ndjson', c => {
  c.header('Content-Type', 'application/x-ndjson')
  return stream(c, async lines => {
    for (let n = 1; n <= 3; n++) {
      await lines.write(`${JSON.stringify({ n })}\n`)
      await lines.sleep(SILENCE_MS)
    }
  })
})
app.get('/text', c =>
  streamText(c, async text => {
    for (let n = 1; n <= 3; n++) {
      await text.writeln(`${n}`)
      await text.sleep(SILENCE_MS)
    }
  }),
)
app.get('/proxied/:path', c => proxy(`${process.env.UPSTREAM}/${c.req.param('path')}`))
app.get('/long', async c => c.json(await sleep(15_000, { waited: true })))
app.get('/download', c => {
  let left = 32
  const body = new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(block)
      else controller.close()
    },
  })
  return c.body(body, 200, { 'Content-Type': 'application/octet-stream' })
})
app.post('/upload', async c => {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of c.req.raw.body) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return c.json({ bytes, sha256: hash.digest('hex') })
})
app.post('/files', async c => {
  const { file } = await c.req.parseBody()
  const bytes = Buffer.from(await file.arrayBuffer())
  return c.json({ name: file.name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
})
app.get(
  '/ws',
  upgradeWebSocket(() => ({ onMessage: (event, ws) => ws.send(`echo ${event.data}`) })),
)

const server = serve({
  fetch: app.fetch,
  hostname: '127.0.0.1',
  port: Number(process.env.PORT),
  websocket: { server: new WebSocketServer({ noServer: true }) },
})
process.on('SIGTERM', () => server.close(() => process.exit(0)))
