/**
 * Who listens on a TCP port of this machine, as Linux tells in /proc. Elsewhere, and where /proc is closed, nobody is seen.
 */
import { type FileHandle, open, readdir, readlink } from 'node:fs/promises'

/** A listening socket. */
export interface PortListener {
  readonly inode: string
  readonly family: 4 | 6
  /** As the kernel writes it, in hexadecimal. */
  readonly address: string
}

/** The kernel lists listening sockets first, and all others behind them: of these there may be a hundred thousand. */
const CHUNK_BYTES = 16_384
/** So many listening sockets are looked through at most, of each family. */
const MOST_CHUNKS = 16
/** So many descriptors of other processes are looked at to find who has a socket. */
const MOST_DESCRIPTORS = 20_000

export async function listenersOn(port: number): Promise<PortListener[]> {
  return [
    ...(await readListeners('/proc/self/net/tcp', 4, port)),
    ...(await readListeners('/proc/self/net/tcp6', 6, port)),
  ]
}

/** Whole lines of such a file. Undefined for `more`: something that does not listen has come. */
export function parseListeners(lines: readonly string[], family: 4 | 6, port: number): [PortListener[], more: boolean] {
  const found: PortListener[] = []
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const line of lines) {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
    // The heading has a word there.
    if (local === undefined || state === undefined || state === 'st') continue
    if (state !== LISTEN) return [found, false]
    if (local.endsWith(suffix) && inode !== undefined) found.push({ inode, family, address: local.slice(0, -5) })
  }
  return [found, true]
}

/** TCP_LISTEN of the kernel. */
const LISTEN = '0A'

async function readListeners(path: string, family: 4 | 6, port: number): Promise<PortListener[]> {
  let file: FileHandle | undefined
  const found: PortListener[] = []
  try {
    file = await open(path)
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    let rest = ''
    for (let chunk = 0; chunk < MOST_CHUNKS; chunk++) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES)
      const lines = (rest + buffer.toString('latin1', 0, bytesRead)).split('\n')
      rest = lines.pop()!
      const [listeners, more] = parseListeners(lines, family, port)
      found.push(...listeners)
      if (!more || bytesRead === 0) break
    }
  } catch {
    // Not Linux, or it may not be read.
  }
  await file?.close().catch(() => undefined)
  return found
}

/** The inode of a socket of this process. */
export async function inodeOf(fd: number): Promise<string | undefined> {
  return inodeIn(await readlink(`/proc/self/fd/${fd}`).catch(() => ''))
}

/** The process that has this socket; undefined where we may not see it. */
export async function processOf(inode: string): Promise<number | undefined> {
  let left = MOST_DESCRIPTORS
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      if (left-- === 0) return undefined
      if (inodeIn(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')) === inode) return Number(pid)
    }
  }
  return undefined
}

function inodeIn(link: string): string | undefined {
  return /^socket:\[(\d+)\]$/.exec(link)?.[1]
}
