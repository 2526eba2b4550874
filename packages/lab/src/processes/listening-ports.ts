/** Finds the TCP ports of a process tree: in /proc, else by `lsof`. A connection would disturb a cold server. */
import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { processTree } from './process-tree.ts'

const run = promisify(execFile)

export interface Listener {
  readonly port: number
  /** An address to connect to; a server on the wildcard address is reached through loopback. */
  readonly host: string
}

export async function listeningPorts(root: number): Promise<Listener[]> {
  const pids = (await processTree(root)).map(row => row.pid)
  if (pids.length === 0) return []
  return process.platform === 'linux' ? linux(pids) : lsof(pids)
}

async function linux(pids: readonly number[]): Promise<Listener[]> {
  const inodes = new Set((await Promise.all(pids.map(socketInodes))).flat())
  if (inodes.size === 0) return []
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map(name => readFile(`/proc/${pids[0]}/net/${name}`, 'utf8').catch(() => '')),
  )
  return unique(tables.flatMap(parseSocketTable).filter(row => inodes.has(row.inode)))
}

async function socketInodes(pid: number): Promise<string[]> {
  const fds = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const links = await Promise.all(fds.map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  return links.flatMap(link => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? [])
}

/** The listening rows of /proc/net/tcp or tcp6. Pure. */
export function parseSocketTable(text: string): (Listener & { readonly inode: string })[] {
  const listening = '0A'
  return text.split('\n').flatMap(line => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
    if (state !== listening || local === undefined || inode === undefined) return []
    const [address, port] = local.split(':')
    return [{ port: Number.parseInt(port!, 16), host: hostOf(address!), inode }]
  })
}

/** The kernel prints addresses as little-endian words in hex. Of IPv6 addresses, only ::1 is recognised. */
function hostOf(hex: string): string {
  if (hex.length === 8) {
    const bytes = hex
      .match(/../g)!
      .reverse()
      .map(byte => Number.parseInt(byte, 16))
    return bytes.every(byte => byte === 0) ? '127.0.0.1' : bytes.join('.')
  }
  const onlyLoopback6 = hex === '00000000000000000000000001000000'
  // [::] accepts IPv4 too unless ipv6Only is set, which is unlikely for a web server.
  return onlyLoopback6 ? '::1' : '127.0.0.1'
}

async function lsof(pids: readonly number[]): Promise<Listener[]> {
  const args = ['-nP', '-a', '-iTCP', '-sTCP:LISTEN', '-p', pids.join(','), '-Fn']
  const stdout = await run('lsof', args).then(
    done => done.stdout,
    () => '', // lsof exits with 1 if nothing matches.
  )
  return unique(parseLsof(stdout))
}

/** `lsof -Fn` prints one `n<address>:<port>` line per socket. Pure. */
export function parseLsof(text: string): Listener[] {
  return text.split('\n').flatMap(line => {
    const found = /^n(.*):(\d+)$/.exec(line)
    if (found === null) return []
    const host = found[1] === '[::1]' ? '::1' : /^\d+\./.test(found[1]!) ? found[1]! : '127.0.0.1'
    return [{ port: Number(found[2]), host }]
  })
}

function unique(found: readonly Listener[]): Listener[] {
  const byPort = new Map<number, Listener>()
  for (const { port, host } of found) {
    const known = byPort.get(port)
    // A server that listens on both families is reached over IPv4.
    if (known === undefined || known.host === '::1') byPort.set(port, { port, host })
  }
  return [...byPort.values()].sort((a, b) => a.port - b.port)
}
