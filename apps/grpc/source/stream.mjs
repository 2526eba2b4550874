// Runs one of the streams, by name. Ends with 1 if it was cut.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { clientOf } from './service.mjs'

const SILENCE_MS = 12_000
const OVER_MS = 20_000
const client = clientOf()

const ended = call => new Promise((resolve, reject) => call.on('end', resolve).on('error', reject))
const answered = method =>
  new Promise((resolve, reject) => method((error, answer) => (error ? reject(error) : resolve(answer))))

const streams = {
  async ticks() {
    const call = client.ticks({ ms: SILENCE_MS })
    const words = []
    call.on('data', message => words.push(message.words))
    await ended(call)
    console.log(words.join())
  },
  async later() {
    console.log((await answered(done => client.later({ ms: 15_000 }, done))).words)
  },
  async echo() {
    const call = client.echo()
    call.on('data', message => console.log(message.words))
    call.write({ words: 'before' })
    await sleep(SILENCE_MS)
    call.write({ words: 'after' })
    call.end()
    await ended(call)
  },
  async upload() {
    let call
    const answer = answered(done => {
      call = client.upload(done)
    })
    for (let n = 0; n < 40; n++) {
      call.write({ bytes: Buffer.alloc(50_000, 'upload ') })
      await sleep(OVER_MS / 40)
    }
    call.end()
    console.log((await answer).words)
  },
  async download() {
    const call = client.download({ name: 'large' })
    const hash = createHash('sha256')
    let bytes = 0
    for await (const piece of call) {
      hash.update(piece.bytes)
      bytes += piece.bytes.length
      await sleep(OVER_MS / 512)
    }
    console.log(bytes, hash.digest('hex'))
  },
}

await streams[process.argv[2]]()
client.close()
