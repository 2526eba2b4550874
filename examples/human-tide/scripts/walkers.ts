/**
 * Walkers for a demonstration: `npm run walkers -w human-tide -- 100 http://127.0.0.1:3000` walks that many along the
 * made-up bay, each sending once a second as a phone does. Not a benchmark: that is `meltlab run tide`.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const NAMES =
  'Ada Bo Cleo Dina Emil Fay Gus Hana Ivo Jun Kai Lea Mats Nia Otto Pia Quin Rosa Sven Tilda Uma Vic Wim Xan Yara Zoe'
const count = Number(process.argv[2] ?? 100)
const origin = process.argv[3] ?? 'http://127.0.0.1:3000'
/** Every walker has walked for this long already, ms: something to see at once, and to replay. */
const before = Number(process.argv[4] ?? 0) * 60_000
if (!Number.isInteger(count) || count < 1 || count > 1000 || !URL.canParse(origin) || Number.isNaN(before)) {
  console.error('usage: walkers [1 to 1000] [http://host:port] [minutes already walked]')
  process.exit(2)
}

type Point = readonly [lon: number, lat: number]
const bay = JSON.parse(readFileSync(new URL('../public/shoreline.json', import.meta.url), 'utf8'))
const [begin, end] = bay.properties.bay
const line: readonly Point[] = bay.geometry.coordinates.slice(begin, end + 1)
const METRES = 111_320
const squeeze = Math.cos((line[0]![1] * Math.PI) / 180)

const between = (min: number, max: number): number => min + Math.random() * (max - min)
const walkers = Array.from({ length: count }, (_, index) => ({
  key: randomBytes(24).toString('base64url'),
  name: NAMES.split(' ')[index % 26]! + (index < 26 ? '' : ` ${1 + Math.floor(index / 26)}`),
  along: between(0, line.length - 1),
  /** Segments of the line (20 m) a second; 0.9 to 1.6 m/s, in either direction. */
  pace: (between(0.9, 1.6) / 20) * (Math.random() < 0.5 ? -1 : 1),
  /** Metres up the beach. */
  side: between(1, 14),
  seq: 0,
}))
type Walker = (typeof walkers)[number]

let failures = 0
await Promise.all(
  walkers.map(async walker => {
    const now = Date.now()
    const past = Array.from({ length: Math.floor(before / 1000) }, (_, second) =>
      step(walker, now - before + second * 1000),
    )
    for (let at = 0; at < past.length; at += 100) {
      await post(walker, past.slice(at, at + 100))
      await sleep(300) // the quota of a phone
    }
    await sleep(Math.random() * 1000)
    for (;;) {
      await post(walker, [step(walker, Date.now())])
      await sleep(1000)
    }
  }),
)

function step(walker: Walker, at: number) {
  walker.along += walker.pace
  if (walker.along < 0.01 || walker.along > line.length - 1.01) walker.pace = -walker.pace
  walker.along = Math.min(line.length - 1.01, Math.max(0.01, walker.along))
  walker.side = Math.min(18, Math.max(0, walker.side + between(-0.5, 0.5)))
  const index = Math.floor(walker.along)
  const part = walker.along - index
  const [lon1, lat1] = line[index]!
  const [lon2, lat2] = line[index + 1]!
  const [east, north] = [(lon2 - lon1) * squeeze, lat2 - lat1]
  const length = Math.hypot(east, north)
  const up = walker.side / METRES / length
  return {
    seq: ++walker.seq,
    at,
    // Land is on the left of the line.
    lat: lat1 + north * part + east * up,
    lon: lon1 + (east * part - north * up) / squeeze,
    accuracy: Math.round(between(3, 9)),
  }
}

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
