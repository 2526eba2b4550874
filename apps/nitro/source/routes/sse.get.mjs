import { setTimeout as sleep } from 'node:timers/promises'
import { createEventStream, defineEventHandler } from 'h3'

export default defineEventHandler(event => {
  const stream = createEventStream(event)
  const tick = async () => {
    for (let n = 1; n <= 3; n++) {
      await stream.push(`${n}`)
      await sleep(12_000)
    }
    await stream.close()
  }
  void tick()
  return stream.send()
})
