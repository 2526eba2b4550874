/**
 * A DNS server for bench/verdicts.ts: it answers `d300-7.slow.test` with 127.0.0.1 after 300 ms. A process started with
 * `start()` uses it through its own /etc/resolv.conf, which needs Linux and root.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ADDRESS = '127.0.0.54'
const TYPE_A = 1

export interface SlowResolver {
  start(script: string, args: readonly string[]): ChildProcess
  stop(): void
}

/** Starts the DNS server. Returns undefined where `unshare` cannot run. */
export async function slowResolver(): Promise<SlowResolver | undefined> {
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return undefined
  const server = dgram.createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    const { name, end } = nameIn(query)
    const delayMs = Number(/^d(\d+)-/.exec(name)?.[1] ?? 0)
    setTimeout(() => server.send(answerTo(query, end), port, address), delayMs)
  })
  server.bind(53, ADDRESS)
  await once(server, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-resolver-'))
  const file = join(folder, 'resolv.conf')
  writeFileSync(file, `nameserver ${ADDRESS}\noptions timeout:10\n`)
  const shell = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
  return {
    start: (script, args) =>
      spawn('unshare', ['--mount', 'sh', '-c', shell, file, process.execPath, script, ...args], {
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      }),
    stop() {
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The name in the only question of a query, which begins after its header of 12 bytes. */
function nameIn(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  while (query[at] !== 0) {
    const length = query[at]!
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 5 }
}

/** Answers a question for an IPv4 address with 127.0.0.1, and any other with no record. */
function answerTo(query: Buffer, end: number): Buffer {
  const isA = query.readUInt16BE(end - 4) === TYPE_A
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(isA ? 1 : 0, 6)
  head.writeUInt32BE(0, 8)
  const address = Buffer.from([0xc0, 0x0c, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([head, query.subarray(12, end), ...(isA ? [address] : [])])
}
