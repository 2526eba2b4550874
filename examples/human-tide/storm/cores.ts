/**
 * Which core does what, so that neither side can take what is the other's, and the load none of theirs. Linux's `taskset`
 * does it; elsewhere nothing is pinned and the page says so.
 */
import { spawnSync } from 'node:child_process'

export interface Cores {
  /** Each has one of its own where there are four or more; with fewer they share one, evenly. */
  readonly left: number
  readonly right: number
  /** The load, the database, and whatever else the machine does. */
  readonly rest: readonly number[]
}

/** Pure. Undefined with a single core. */
export function coresOf(allowed: readonly number[]): Cores | undefined {
  const right = allowed.at(-1)
  if (right === undefined || allowed.length < 2) return undefined
  return allowed.length < 4
    ? { left: right, right, rest: allowed.slice(0, -1) }
    : { left: allowed.at(-2)!, right, rest: allowed.slice(0, -2) }
}

/** The cores this process may use; none where `taskset` is missing. `current affinity list: 0,2-4` names 0, 2, 3 and 4. */
export function allowedCores(): number[] {
  const { status, stdout } = spawnSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' })
  if (status !== 0) return []
  return stdout
    .trim()
    .split(/\s+/)
    .at(-1)!
    .split(',')
    .flatMap(range => {
      const [from = 0, to = from] = range.split('-').map(Number)
      return Array.from({ length: to - from + 1 }, (_, index) => from + index)
    })
}

/** All threads of a process; children that it starts later inherit it. */
export function pin(pid: number, cores: readonly number[]): void {
  if (cores.length > 0) spawnSync('taskset', ['-acp', cores.join(','), String(pid)], { stdio: 'ignore' })
}
