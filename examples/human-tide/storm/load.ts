/**
 * Simulates the phones of one side, in its own process: `fork('load.ts', [port, file of the shoreline])`. Each phone
 * sends one position a second, due at its own moment of the second, even if earlier ones are unanswered. It uses its
 * connection if that is free, and otherwise opens another. The parent sends the number of phones, and receives
 * {@link Told} twice a second.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { BUCKETS, bucketOf, type Counts, PATIENCE_MS } from './figures.ts'
import { Beach, EVERY_MS, phaseOf } from './page/phone.js'

export interface Told {
  readonly counts: Counts
  /** Age of each phone's last stored position, in tenths of a second. 255 means 25.5 s or more, or none stored. */
  readonly ages: Uint8Array
}

/** Maximum number of connections: the limit of open files per process is often 20,000. */
const MOST_CONNECTIONS = 15_000
/** Maximum number of connections that are being opened: the backlog of a listening socket holds 511. */
const MOST_OPENING = 300
/** After this time new phones send even if some are not connected yet, ms. */
const JOIN_MS = 4000
const SLOT_MS = 10
const SLOTS = EVERY_MS / SLOT_MS
const TELL_MS = 500
const IN_TIME_MS = 1000
/** As long as the User-Agent of a real phone. */
const AGENT =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'

const [port, shoreline] = process.argv.slice(2)
const beach = new Beach(...beachOf(shoreline!))

interface Phone {
  readonly number: number
  readonly head: string
  readonly free: Connection[]
  seq: number
  storedAt: number
}

const phones: Phone[] = []
const slots: Phone[][] = Array.from({ length: SLOTS }, () => [])
/** Connections with an open request, in the order in which the requests were due: the first one times out first. */
const busy = new Set<Connection>()
/** Number of phones that send. */
let wanted = 0
let joining: NodeJS.Timeout | undefined
let open = 0
let opening = 0
let counts = blank()

function blank() {
  return { due: 0, stored: 0, inTime: 0, shed: 0, lost: 0, latencies: new Array<number>(BUCKETS).fill(0) }
}

function beachOf(file: string): [unknown, readonly [number, number]] {
  const json = JSON.parse(readFileSync(file, 'utf8'))
  return [json, json.properties.bay]
}

/** The read buffer of all connections. An answer costs half as much as with a stream in between. */
const chunk = Buffer.allocUnsafe(16_384)

/** Carries one request at a time: no pipelining. */
class Connection {
  readonly #socket: Socket
  readonly #phone: Phone
  #due = 0
  #position = 0
  #got = ''
  #isOpening = true

  constructor(phone: Phone) {
    this.#phone = phone
    open++
    opening++
    const callback = (length: number): boolean => {
      this.#read(chunk.toString('latin1', 0, length))
      return true
    }
    const to = { port: Number(port), host: '127.0.0.1', noDelay: true, onread: { buffer: chunk, callback } }
    this.#socket = connect(to, () => this.#opened())
      .on('error', () => {})
      .once('close', () => this.#closed())
  }

  send(due: number): void {
    const { number, head } = this.#phone
    const now = Date.now()
    const { lat, lon } = beach.at(number, now)
    this.#due = due
    this.#position = now
    busy.add(this)
    const position = `{"seq":${++this.#phone.seq},"at":${now},"lat":${lat.toFixed(6)},"lon":${lon.toFixed(6)},"accuracy":5}`
    const body = `{"name":"","sentAt":${now},"positions":[${position}]}`
    this.#socket.write(`${head}${body.length}\r\n\r\n${body}`, 'latin1')
  }

  get due(): number {
    return this.#due
  }

  giveUp(): void {
    this.#end('lost', PATIENCE_MS)
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#got += text
    const head = this.#got.indexOf('\r\n\r\n')
    if (head === -1) return
    const length = Number(/^content-length: *(\d+)/im.exec(this.#got)?.[1] ?? 0)
    if (this.#got.length < head + 4 + length) return
    const status = this.#got.slice(9, 12)
    const stays = !/^connection: *close/im.test(this.#got.slice(0, head))
    this.#got = ''
    const latency = performance.now() - this.#due
    if (status === '200') {
      counts.stored++
      if (latency <= IN_TIME_MS) counts.inTime++
      this.#phone.storedAt = Math.max(this.#phone.storedAt, this.#position)
    }
    this.#end(status === '200' ? undefined : status === '503' ? 'shed' : 'lost', latency)
    if (stays && this.#phone.number < wanted) this.#phone.free.push(this)
    else this.#socket.destroy()
  }

  /** The latency of a shed position is not counted, because a quick 503 would make the service look fast. */
  #end(as: 'shed' | 'lost' | undefined, latency: number): void {
    if (!busy.delete(this)) return
    if (as !== undefined) counts[as]++
    if (as !== 'shed') counts.latencies[bucketOf(latency)]!++
  }

  #closed(): void {
    open--
    this.#opened()
    this.#end('lost', performance.now() - this.#due)
    const at = this.#phone.free.indexOf(this)
    if (at !== -1) this.#phone.free.splice(at, 1)
  }

  close(): void {
    this.#socket.destroy()
  }

  #opened(): void {
    if (this.#isOpening) opening--
    this.#isOpening = false
  }
}

/**
 * New phones connect first and then begin to send together, so that an overload does not begin with their connecting.
 */
function setPhones(count: number): void {
  while (phones.length < count) {
    const number = phones.length
    const phone = { number, head: headOf(number), free: [], seq: 0, storedAt: 0 }
    phones.push(phone)
    slots[Math.floor(phaseOf(number) * SLOTS)]!.push(phone)
  }
  for (const phone of phones.slice(count)) for (const connection of phone.free.splice(0)) connection.close()
  clearInterval(joining)
  let next = Math.min(wanted, count)
  wanted = next
  const endAt = performance.now() + JOIN_MS
  joining = setInterval(() => {
    while (next < count && opening < MOST_OPENING && open < MOST_CONNECTIONS) {
      const phone = phones[next++]!
      if (phone.free.length === 0) phone.free.push(new Connection(phone))
    }
    if ((next < count || opening > 0) && performance.now() < endAt) return
    wanted = count
    clearInterval(joining)
  }, SLOT_MS)
}

const headOf = (number: number): string =>
  `POST /api/positions HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer storm-phone-of-the-lab-${String(number).padStart(6, '0')}\r\n` +
  `user-agent: ${AGENT}\r\ncontent-type: application/json\r\ncontent-length: `

function send(phone: Phone, due: number): void {
  counts.due++
  const connection =
    phone.free.pop() ?? (open < MOST_CONNECTIONS && opening < MOST_OPENING ? new Connection(phone) : undefined)
  // Without a connection the position cannot be sent.
  if (connection === undefined) counts.lost++
  else connection.send(due)
}

let slot = Math.floor(performance.now() / SLOT_MS)
setInterval(() => {
  const now = performance.now()
  // A late timer skips no slot, and latencies are measured from when a slot was due.
  for (; (slot + 1) * SLOT_MS <= now; slot++) {
    for (const phone of slots[slot % SLOTS]!) if (phone.number < wanted) send(phone, slot * SLOT_MS)
  }
  for (const connection of busy) {
    if (connection.due + PATIENCE_MS > now) break
    connection.giveUp()
  }
}, SLOT_MS / 2)

let toldAt = performance.now()
setInterval(() => {
  const [now, at] = [Date.now(), performance.now()]
  const ages = Uint8Array.from(phones.slice(0, wanted), ({ storedAt }) =>
    Math.min(255, Math.round((now - storedAt) / 100)),
  )
  process.send?.({ counts: { ms: at - toldAt, ...counts }, ages } satisfies Told)
  counts = blank()
  toldAt = at
}, TELL_MS)

process.on('message', message => setPhones(Number(message)))
process.on('disconnect', () => process.exit(0))
