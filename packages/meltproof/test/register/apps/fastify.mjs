import fastify from 'fastify'
import { report, sayPort } from './report.cjs'
const app = fastify()
app.get('/*', async (request, reply) => {
  reply.header('connection', 'close')
  if (request.url === '/stop') reply.raw.on('finish', () => void app.close())
  return report(app.server)
})
await app.listen({ port: 0, host: '127.0.0.1' })
sayPort(app.server)
