/** Where and when a benchmark ran, and whether the machine was quiet enough to believe it. */
import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'

export interface Conditions {
  readonly date: string
  readonly node: string
  readonly cpu: string
  readonly cores: number
  /** Load average of the last minute when the benchmark began: above 1 somebody else was using the machine. */
  readonly loadBefore: number
  readonly kernel: string
}

export function conditions(): Conditions {
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    kernel: readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim(),
  }
}
