/** Where and when a benchmark ran, and whether the machine was quiet enough to trust the result. */
import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { commitHere } from '../../packages/lab/src/experiment/commit.ts'

export interface Conditions {
  readonly date: string
  readonly node: string
  readonly cpu: string
  readonly cores: number
  /** Load average of the last minute when the benchmark began. Above 1, something else was using the machine. */
  readonly loadBefore: number
  readonly kernel: string
  /** Ends in `+` if the code had uncommitted changes. Missing in older results. */
  readonly commit?: string
  /** Cores of CPU that other processes used, and whether that was low enough. `npm run figures` adds both. */
  readonly foreign?: { readonly mean: number; readonly worst: number } | null
  readonly certified?: boolean
}

export function conditions(): Conditions {
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    kernel: readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim(),
    commit: commitHere() ?? 'unknown',
  }
}

/** Minimum and maximum of the rounds whose median is published. */
export const spreadOf = (rounds: readonly number[]): readonly [number, number] => [
  Math.min(...rounds),
  Math.max(...rounds),
]
