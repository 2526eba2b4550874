/**
 * Assigns CPU cores, so that the load takes no CPU time from the services, nor one service from the other. It uses
 * Linux's `taskset`; elsewhere nothing is pinned and the page says so.
 */
import { spawnSync } from 'node:child_process'

export interface Cores {
  /** With four cores or more each service has its own; with two or three the services share one. */
  readonly left: number
  readonly right: number
  /** For the load, the database and the server of the page. */
  readonly rest: readonly number[]
}

/** Pure function. Returns undefined if fewer than two cores are allowed. */
export function coresOf(allowed: readonly number[]): Cores | undefined {
  const right = allowed.at(-1)
  if (right === undefined || allowed.length < 2) return undefined
  return allowed.length < 4
    ? { left: right, right, rest: allowed.slice(0, -1) }
    : { left: allowed.at(-2)!, right, rest: allowed.slice(0, -2) }
}

/**
 * Returns the cores that this process may use, or none if `taskset` is missing. For example, its output
 * `current affinity list: 0,2-4` means cores 0, 2, 3 and 4.
 */
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

/** Pins all threads of a process. Children that it starts later inherit the affinity. */
export function pin(pid: number, cores: readonly number[]): void {
  if (cores.length > 0) spawnSync('taskset', ['-acp', cores.join(','), String(pid)], { stdio: 'ignore' })
}
