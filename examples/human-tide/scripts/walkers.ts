/**
 * Simulates walkers for a demonstration: `npm run walkers -w human-tide -- 100 http://127.0.0.1:3000` makes 100 walk
 * along the invented bay. Each sends a position once a second, like a phone. The benchmark is `meltlab run tide`.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BayWalker, nameOf } from '../src/simulated/bay.ts'

const count = Number(process.argv[2] ?? 100)
const origin = process.argv[3] ?? 'http://127.0.0.1:3000'
/** Each walker first sends positions of this much time before now, ms, so that there are walks to replay. */
const before = Number(process.argv[4] ?? 0) * 60_000
if (!Number.isInteger(count) || count < 1 || count > 1000 || !URL.canParse(origin) || Number.isNaN(before)) {
  console.error('usage: walkers [1 to 1000] [http://host:port] [minutes already walked]')
  process.exit(2)
}

const walkers = Array.from({ length: count }, (_, index) => ({
  key: randomBytes(24).toString('base64url'),
  name: nameOf(index),
  on: new BayWalker(),
}))
type Walker = (typeof walkers)[number]

let failures = 0
await Promise.all(
  walkers.map(async walker => {
    const now = Date.now()
    const past = Array.from({ length: Math.floor(before / 1000) }, (_, second) =>
      walker.on.step(now - before + second * 1000),
    )
    for (let at = 0; at < past.length; at += 100) {
      await post(walker, past.slice(at, at + 100))
      await sleep(300) // within the quota of a phone: 4 requests a second
    }
    await sleep(Math.random() * 1000)
    for (;;) {
      await post(walker, [walker.on.step(Date.now())])
      await sleep(1000)
    }
  }),
)

async function post({ key, name }: Walker, positions: readonly object[]): Promise<void> {
  const answer = await fetch(`${origin}/api/positions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, sentAt: Date.now(), positions }),
  }).catch(error => error.cause ?? error)
  await answer.text?.()
  if (answer.ok) return
  if (failures++ % 100 === 0) console.error(`not stored: ${answer.status ?? answer.message}`)
}
