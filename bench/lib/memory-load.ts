/** The four loads of bench/memory-cgroup.ts, each from a given number of requests a second on (open loop). */
import http from 'node:http'
import net from 'node:net'

export interface LoadCounts {
  sent: number
  good: number
  shed: number
  late: number
  failed: number
}

/** An answer within this is good, ms: the dependency takes 6 s. */
const PROMISE_MS = 8000
/** Clients of `answers` begin to read after this, ms. */
const SLOW_READER_MS = 6000
const GIVE_UP_MS = 15_000
const BODY = Buffer.alloc(1024 * 1024, 'b')
const PIPELINED_PER_CONNECTION = 100

const counts = (): LoadCounts => ({ sent: 0, good: 0, shed: 0, late: 0, failed: 0 })

function judge(into: LoadCounts, status: number | undefined, sentAt: number): void {
  if (status === 503) into.shed++
  else if (status !== 200) into.failed++
  else if (performance.now() - sentAt <= PROMISE_MS) into.good++
  else into.late++
}

/** A connection each: a client that is turned away in the middle of its body closes. */
function post(port: number, into: LoadCounts): Promise<void> {
  const sentAt = performance.now()
  into.sent++
  return new Promise(resolve => {
    let status: number | undefined
    const socket = net.connect(port, '127.0.0.1')
    const done = (): void => {
      socket.destroy()
      resolve()
    }
    socket.setTimeout(GIVE_UP_MS, done)
    socket.on('error', () => {})
    socket.on('data', head => {
      status ??= Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString('latin1'))?.[1])
      socket.end()
      done()
    })
    socket.on('close', () => {
      judge(into, status, sentAt)
      resolve()
    })
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY.length}\r\n\r\n`)
    socket.write(BODY)
  })
}

function get(port: number, path: string, waitMs: number, into: LoadCounts): Promise<void> {
  const sentAt = performance.now()
  into.sent++
  return new Promise(resolve => {
    let status: number | undefined
    let whole = false
    const request = http.get({ port, host: '127.0.0.1', path, agent: false }, response => {
      status = response.statusCode
      const read = (): void => {
        response.resume()
        response.on('end', () => {
          whole = true
        })
      }
      if (waitMs > 0 && status === 200) setTimeout(read, waitMs)
      else read()
    })
    request.setTimeout(GIVE_UP_MS, () => request.destroy())
    request.on('error', () => {})
    request.on('close', () => {
      judge(into, whole ? status : undefined, sentAt)
      resolve()
    })
  })
}

async function atRate(perS: number, ms: number, send: () => Promise<void>): Promise<void> {
  const sent: Promise<void>[] = []
  const from = performance.now()
  while (performance.now() - from < ms) {
    const due = ((performance.now() - from) * perS) / 1000
    while (sent.length < due) sent.push(send())
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  await Promise.all(sent)
}

/** All requests of a connection at once, whatever is answered. */
function pipeline(port: number, requests: number, into: LoadCounts): Promise<void> {
  const sentAt = performance.now()
  into.sent += requests
  return new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1')
    let answered = 0
    socket.setTimeout(GIVE_UP_MS, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('data', text => {
      for (const [, status] of text.toString('latin1').matchAll(/HTTP\/1\.1 (\d+)/g)) {
        answered++
        judge(into, Number(status), sentAt)
      }
      if (answered >= requests) socket.end()
    })
    socket.on('close', () => {
      into.failed += Math.max(0, requests - answered)
      resolve()
    })
    const head = Buffer.from(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY.length}\r\n\r\n`)
    for (let i = 0; i < requests; i++) {
      socket.write(head)
      socket.write(BODY)
    }
  })
}

export type Kind = 'bodies' | 'heap' | 'answers' | 'pipelined'
export const KINDS: readonly Kind[] = ['bodies', 'heap', 'answers', 'pipelined']

/** What fills the memory, requests a second (for `pipelined`: connections of 100 requests), of 256 MiB. */
const FILLS: Readonly<Record<Kind, number>> = { bodies: 25, heap: 25, answers: 8, pipelined: 1.8 }

export async function offer(kind: Kind, times: number, port: number, ms: number): Promise<LoadCounts> {
  const into = counts()
  const rate = FILLS[kind] * times
  if (kind === 'bodies') await atRate(rate, ms, () => post(port, into))
  else if (kind === 'heap') await atRate(rate, ms, () => get(port, '/', 0, into))
  else if (kind === 'answers') await atRate(rate, ms, () => get(port, '/', SLOW_READER_MS, into))
  else if (times >= 1) {
    // 900 MB at five times what fits: there is no rate to it.
    await Promise.all(Array.from({ length: 9 }, () => pipeline(port, PIPELINED_PER_CONNECTION, into)))
  } else await Promise.all(Array.from({ length: 3 }, () => pipeline(port, 20, into)))
  return into
}

/** Small requests beside the load, 20 a second, which need no memory to speak of. */
export async function ping(port: number, until: Promise<unknown>): Promise<LoadCounts> {
  const into = counts()
  let ended = false
  void until.finally(() => {
    ended = true
  })
  const sent: Promise<void>[] = []
  while (!ended) {
    sent.push(get(port, '/ping', 0, into))
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  await Promise.all(sent)
  return into
}
