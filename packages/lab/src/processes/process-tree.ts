/** Reads the processes of this machine from outside, even stalled ones: /proc on Linux, `ps` elsewhere. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { descendants, type ProcessRow, parsePs, parseRss, parseStat, usedMs } from './proc-stat.ts'

const run = promisify(execFile)

export async function allProcesses(): Promise<ProcessRow[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,pgid=,state=,rss=,time='])
    return parsePs(stdout)
  }
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  // A process may end between listing and reading; that is not an error.
  const rows = pids.map(pid => readFile(`/proc/${pid}/stat`, 'utf8').then(parseStat, () => undefined))
  return (await Promise.all(rows)).filter(row => row !== undefined)
}

/** `root` and its descendants; empty if root has ended. */
export async function processTree(root: number): Promise<ProcessRow[]> {
  const rows = await allProcesses()
  const wanted = new Set(descendants(rows, root))
  return rows.filter(row => wanted.has(row.pid))
}

/** Returns the ids of the processes that still run. A zombie does not count. */
export async function livingOf(pids: readonly number[]): Promise<ReadonlySet<number>> {
  const rows = await allProcesses()
  return new Set(rows.filter(({ pid, state }) => pids.includes(pid) && state !== 'Z').map(({ pid }) => pid))
}

export interface Usage {
  readonly rssBytes: number
  /** CPU time of the processes of the tree, since each started, and of the ended ones that these waited for, ms. */
  readonly cpuMs: number
}

export async function usage(root: number): Promise<Usage> {
  const rows = await processTree(root)
  const rss = await Promise.all(
    rows.map(({ pid, rssBytes }) => rssBytes ?? readFile(`/proc/${pid}/status`, 'utf8').then(parseRss, () => 0)),
  )
  return {
    rssBytes: rss.reduce((sum, bytes) => sum + bytes, 0),
    cpuMs: rows.reduce((sum, row) => sum + usedMs(row), 0),
  }
}
