/** Parses Linux's /proc files and the output of `ps`. Pure: it opens nothing. */

export interface ProcessRow {
  readonly pid: number
  readonly ppid: number
  /** Process group. */
  readonly pgid: number
  /** One letter: R, S, D, Z (a zombie is dead but not yet collected), ... */
  readonly state: string
  /** CPU time so far, user and system, ms. */
  readonly cpuMs: number
  /** CPU time of ended children that it has waited for, ms; Linux only. */
  readonly reapedMs?: number
  /** Resident memory; absent on Linux, where it is in another file. */
  readonly rssBytes?: number
}

/** CPU time of a process and of the ended children that it has waited for, ms. */
export const usedMs = ({ cpuMs, reapedMs = 0 }: ProcessRow): number => cpuMs + reapedMs

/** Clock ticks per second in which /proc counts CPU time. USER_HZ is 100 on every Linux architecture with Node. */
const ticksPerSecond = 100

/**
 * Parses /proc/<pid>/stat. The command name may contain spaces and parentheses, so fields are counted from the last
 * closing parenthesis.
 */
export function parseStat(line: string): ProcessRow | undefined {
  const nameEnd = line.lastIndexOf(')')
  if (nameEnd < 0) return undefined
  const pid = Number.parseInt(line, 10)
  const fields = line.slice(nameEnd + 2).split(' ')
  // Field 3 of proc(5), the state, is fields[0]; utime is field 14, and stime, cutime and cstime follow it.
  const [state, ppid, pgid] = fields
  const ticks = Number(fields[11]) + Number(fields[12])
  const reaped = Number(fields[13]) + Number(fields[14])
  if (!Number.isInteger(pid) || state === undefined || !Number.isFinite(ticks)) return undefined
  const [cpuMs, reapedMs] = [ticks, reaped].map(count => (count * 1000) / ticksPerSecond) as [number, number]
  return { pid, ppid: Number(ppid), pgid: Number(pgid), state, cpuMs, reapedMs }
}

/** Resident memory in bytes, from /proc/<pid>/status; 0 for kernel threads and zombies, which have no VmRSS line. */
export function parseRss(status: string): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(status)
  return found === null ? 0 : Number(found[1]) * 1024
}

/** Parses macOS' and BSD's `ps -A -o pid=,ppid=,pgid=,state=,rss=,time=`; rss in KiB, time [[dd-]hh:]mm:ss[.cc]. */
export function parsePs(text: string): ProcessRow[] {
  return text.split('\n').flatMap(line => {
    const [pid, ppid, pgid, state, rss, time] = line.trim().split(/\s+/)
    if (time === undefined) return []
    const ids = { pid: Number(pid), ppid: Number(ppid), pgid: Number(pgid) }
    return [{ ...ids, state: state!.charAt(0), cpuMs: parsePsTime(time), rssBytes: Number(rss) * 1024 }]
  })
}

function parsePsTime(time: string): number {
  const [clock, days] = time.split('-').reverse()
  let seconds = 0
  for (const part of (clock ?? '').split(':')) seconds = seconds * 60 + Number(part)
  return Math.round((seconds + Number(days ?? 0) * 86_400) * 1000)
}

/**
 * Busy and idle time of each core since boot, ms, from /proc/stat. Stolen time, in which the host ran another machine,
 * counts as idle: no process here used it.
 */
export function parseCores(stat: string): { readonly busyMs: number; readonly idleMs: number }[] {
  const cores: { busyMs: number; idleMs: number }[] = []
  for (const line of stat.split('\n')) {
    const found = /^cpu(\d+) (.*)$/.exec(line)
    if (found === null) continue
    const ticks = found[2]!.trim().split(/\s+/).map(Number)
    // user nice system idle iowait irq softirq steal; guest time is already inside user.
    const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0) + (ticks[7] ?? 0)
    const all = ticks.slice(0, 8).reduce((sum, value) => sum + value, 0)
    cores[Number(found[1])] = {
      busyMs: ((all - idle) * 1000) / ticksPerSecond,
      idleMs: (idle * 1000) / ticksPerSecond,
    }
  }
  return cores
}

/** The process ids of `root` and all its descendants, root first. */
export function descendants(rows: readonly ProcessRow[], root: number): number[] {
  const children = Map.groupBy(rows, row => row.ppid)
  const found = [root]
  for (let i = 0; i < found.length; i++) {
    for (const child of children.get(found[i]!) ?? []) if (!found.includes(child.pid)) found.push(child.pid)
  }
  return found
}
