// Fastify with schemas, files and a WebSocket. It uses PostgreSQL through Prisma.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import multipart from '@fastify/multipart'
import websocket from '@fastify/websocket'
import Fastify from 'fastify'
import { migrate, prisma } from './database.mjs'

const PAGE = 50
const app = Fastify({ logger: { level: 'error' } })
await app.register(multipart)
await app.register(websocket)

app.setErrorHandler((error, _request, reply) => {
  // Prisma's error codes for a missing record, and for a reference to a missing record.
  if (error.code === 'P2025') return reply.code(404).send({ error: 'not found' })
  if (error.code === 'P2003') return reply.code(409).send({ error: 'refers to nothing' })
  const status = error.statusCode ?? 500
  return reply.code(status).send({ error: status < 500 ? error.message : 'internal' })
})

const id = { type: 'object', properties: { id: { type: 'integer' } } }
const newPost = {
  type: 'object',
  required: ['title', 'body', 'authorId'],
  properties: {
    title: { type: 'string', minLength: 1 },
    body: { type: 'string' },
    authorId: { type: 'integer' },
  },
}
const page = {
  type: 'object',
  properties: {
    take: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
    skip: { type: 'integer', minimum: 0, default: 0 },
  },
}

app.get('/', () => ({ hello: 'Fastify' }))
app.get('/posts', { schema: { querystring: page } }, ({ query }) =>
  prisma.post.findMany({ ...query, orderBy: { id: 'asc' }, include: { author: true } }),
)
app.get('/posts/:id', { schema: { params: id } }, ({ params }) =>
  prisma.post.findUniqueOrThrow({
    where: { id: params.id },
    include: { author: true, comments: { orderBy: { id: 'asc' } } },
  }),
)
app.post('/posts', { schema: { body: newPost } }, async ({ body }, reply) => {
  reply.code(201)
  return prisma.post.create({ data: body })
})
app.patch('/posts/:id', { schema: { params: id } }, ({ params, body }) =>
  prisma.post.update({ where: { id: params.id }, data: { title: body.title } }),
)
app.post('/posts/:id/likes', { schema: { params: id } }, ({ params }) =>
  prisma.$transaction(async tx => {
    const post = await tx.post.findUniqueOrThrow({ where: { id: params.id } })
    return tx.post.update({ where: { id: post.id }, data: { likes: { increment: 1 } } })
  }),
)
app.delete('/posts/:id', { schema: { params: id } }, async ({ params }, reply) => {
  await prisma.post.delete({ where: { id: params.id } })
  reply.code(204)
})
app.get('/search', ({ query }) =>
  prisma.post.findMany({
    where: { OR: [{ title: { contains: query.q, mode: 'insensitive' } }, { body: { contains: query.q } }] },
    select: { id: true, title: true },
    orderBy: { id: 'asc' },
  }),
)
app.get('/feed', () =>
  prisma.post.findMany({
    take: 50,
    orderBy: [{ likes: 'desc' }, { id: 'asc' }],
    include: { author: true, comments: { take: 2, orderBy: { id: 'desc' } }, _count: { select: { comments: true } } },
  }),
)
app.get('/broken', () => {
  throw new Error('broken on purpose')
})

app.get('/sleep', async ({ query }) => {
  await prisma.$queryRaw`select pg_sleep(${Number(query.seconds)})::text`
  return { slept: true }
})
app.post('/slow-transaction', () =>
  prisma.$transaction(
    async tx => {
      const before = await tx.post.count()
      await sleep(15_000)
      return { same: before === (await tx.post.count()) }
    },
    { timeout: 30_000 },
  ),
)
app.get('/sse', (_request, reply) => {
  const events = async function* () {
    for (let n = 1; n <= 3; n++) {
      yield `data: ${n}\n\n`
      await sleep(12_000)
    }
  }
  return reply.type('text/event-stream').send(Readable.from(events()))
})
app.get('/export', ({ query }, reply) => {
  const rows = async function* () {
    for (let copy = 0; copy < Number(query.copies ?? 1); copy++) {
      let after = 0
      for (;;) {
        const posts = await prisma.post.findMany({ take: PAGE, where: { id: { gt: after } }, orderBy: { id: 'asc' } })
        if (posts.length === 0) break
        yield posts.map(post => `${JSON.stringify(post)}\n`).join('')
        after = posts.at(-1).id
      }
    }
  }
  return reply.type('application/x-ndjson').send(Readable.from(rows()))
})
app.post('/files', async request => {
  const hash = createHash('sha256')
  let bytes = 0
  const { file, filename } = await request.file()
  for await (const chunk of file) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { filename, bytes, sha256: hash.digest('hex') }
})
app.get('/ws', { websocket: true }, socket => {
  socket.on('message', message => socket.send(`echo ${message}`))
})

process.on('SIGTERM', async () => {
  await app.close()
  await prisma.$disconnect()
  process.exit(0)
})
await migrate()
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
