// A gRPC service with each of the four kinds of call.
import { createHash, pbkdf2Sync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import grpc from '@grpc/grpc-js'
import { service } from './service.mjs'

const block = Buffer.alloc(64 << 10, 'grpc ')

const server = new grpc.Server()
server.addService(service, {
  hello(call, done) {
    const { name } = call.request
    if (name === '') return done({ code: grpc.status.INVALID_ARGUMENT, details: 'a name is needed' })
    if (name === 'broken') throw new Error('broken on purpose')
    const trailer = new grpc.Metadata()
    trailer.set('x-stranger', 'yes')
    done(null, { words: `hello ${name}` }, trailer)
  },
  score(call, done) {
    done(null, { words: pbkdf2Sync(call.request.name, 'salt', 40_000, 32, 'sha256').toString('hex') })
  },
  async later(call, done) {
    await sleep(call.request.ms)
    done(null, { words: 'waited' })
  },
  async ticks(call) {
    for (let n = 1; n <= 3; n++) {
      call.write({ words: `${n}` })
      await sleep(call.request.ms)
    }
    call.end()
  },
  async download(call) {
    for (let n = 0; n < 512; n++) {
      if (!call.write({ bytes: block })) await new Promise(go => call.once('drain', go))
    }
    call.end()
  },
  upload(call, done) {
    const hash = createHash('sha256')
    let bytes = 0
    call.on('data', piece => {
      hash.update(piece.bytes)
      bytes += piece.bytes.length
    })
    call.on('end', () => done(null, { words: `${bytes} ${hash.digest('hex')}` }))
  },
  echo(call) {
    call.on('data', ({ words }) => call.write({ words: `echo ${words}` }))
    call.on('end', () => call.end())
  },
})
process.on('SIGTERM', () => server.tryShutdown(() => process.exit(0)))
server.bindAsync(`127.0.0.1:${process.env.PORT}`, grpc.ServerCredentials.createInsecure(), error => {
  if (error) throw error
})
