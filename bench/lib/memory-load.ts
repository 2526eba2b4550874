/** The four loads of bench/memory-cgroup.ts: three send at a given rate (open loop), one sends all requests at once. */
import http from 'node:http'
import net from 'node:net'

export interface LoadCounts {
  sent: number
  good: number
  shed: number
  late: number
  failed: number
}

/** An answer within this time is good, ms. The dependency takes 6 s. */
const PROMISE_MS = 8000
/** Clients of `answers` begin to read after this, ms. */
const SLOW_READER_MS = 6000
const GIVE_UP_MS = 15_000
const BODY = Buffer.alloc(1024 * 1024, 'b')
const PIPELINING = 9

const counts = (): LoadCounts => ({ sent: 0, good: 0, shed: 0, late: 0, failed: 0 })

function judge(into: LoadCounts, status: number | undefined, sentAt: number): void {
  if (status === 503) into.shed++
  else if (status !== 200) into.failed++
  else if (performance.now() - sentAt <= PROMISE_MS) into.good++
  else into.late++
}

/** Uses one connection per request, because a client that is shed in the middle of its body closes the connection. */
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

/** Sends all requests of a connection at once, independent of the answers. */
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

/**
 * Loads with which a bare server fills 256 MiB; the server alone takes about 55 MB. The numbers are requests per
 * second; each request holds about a megabyte for 6 s. Only `pipelined` is a total, sent at once. The peak was 205 to
 * 240 MB, and at half of the load 127 to 158 MB. The peak of `heap` includes V8's garbage. With `answers`, each answer
 * has 4 MB: cgroup v1 does not count the part in the kernel's socket buffers, so the peak was only 110 MB, and 94 MB at
 * half of the load. docs/memory.md has the last measurement.
 */
const FILLS: Readonly<Record<Kind, number>> = { bodies: 25, heap: 16, answers: 8, pipelined: 180 }
/** Maximum number of pipelined requests; they are sent at once, not at a rate. 900 MB are five times what fits. */
const MOST_PIPELINED = 900

/** @param times multiple of the load that fills the memory */
export async function offer(kind: Kind, times: number, port: number, ms: number): Promise<LoadCounts> {
  const into = counts()
  const amount = FILLS[kind] * times
  if (kind === 'bodies') await atRate(amount, ms, () => post(port, into))
  else if (kind === 'heap') await atRate(amount, ms, () => get(port, '/', 0, into))
  else if (kind === 'answers') await atRate(amount, ms, () => get(port, '/', SLOW_READER_MS, into))
  else {
    const each = Math.round(Math.min(amount, MOST_PIPELINED) / PIPELINING)
    await Promise.all(Array.from({ length: PIPELINING }, () => pipeline(port, each, into)))
  }
  return into
}

/** Small requests during the load, 20 per second, which need very little memory. */
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
