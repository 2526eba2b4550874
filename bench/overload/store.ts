/**
 * What has been measured so far, one file each, below runs/: an interrupted run goes on where it stopped, and each
 * figure can be looked up. Files of an older shape, or of another length, are not this run's and are measured again.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Pinning } from '../../packages/lab/src/launch/core-pinning.ts'
import type { Cell } from './measure.ts'
import type { Mode } from './workloads.ts'

export interface SuiteCapacity {
  readonly before: number
  readonly after: number | null
  readonly users: number
  readonly latencyP50Ms: number | null
  readonly spinPerMs: number
  /** Share of the two cores that were busy in the second before; null where unknown. */
  readonly busyBefore: { readonly server: number; readonly lab: number } | null
  /** The cores of server and load; null when they were not kept apart. */
  readonly pinning: Pinning | null
  readonly durationMs: number
  /** Of this repository. */
  readonly commit: string
  readonly startedAt: string
}

export interface ShedCost {
  readonly us: Readonly<Record<Mode, number>>
  readonly rounds: number
  readonly measuredAt: string
}

export class Store {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  shedCost(): ShedCost | undefined {
    return this.#read('shed-cost')
  }

  keepShedCost(cost: ShedCost): void {
    this.#write('shed-cost', cost)
  }

  capacity(suite: string): SuiteCapacity | undefined {
    return this.#read(`${suite}/capacity`)
  }

  keepCapacity(suite: string, capacity: SuiteCapacity): void {
    this.#write(`${suite}/capacity`, capacity)
  }

  has(suite: string, arm: string, multiple: number, round: number): boolean {
    return existsSync(this.#file(cellName(suite, arm, multiple, round)))
  }

  keep(suite: string, arm: string, multiple: number, round: number, cell: Cell): void {
    this.#write(cellName(suite, arm, multiple, round), cell)
  }

  cells(suite: string): Cell[] {
    const folder = join(this.#root, suite)
    if (!existsSync(folder)) return []
    return readdirSync(folder)
      .filter(name => name.endsWith('.json') && name !== 'capacity.json')
      .sort()
      .map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Cell)
  }

  #file(name: string): string {
    return join(this.#root, `${name}.json`)
  }

  #read<T>(name: string): T | undefined {
    const file = this.#file(name)
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined
  }

  /** All or nothing: a run that is killed leaves no half file. */
  #write(name: string, value: unknown): void {
    const file = this.#file(name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(`${file}.part`, `${JSON.stringify(value)}\n`)
    renameSync(`${file}.part`, file)
  }
}

function cellName(suite: string, arm: string, multiple: number, round: number): string {
  return `${suite}/${arm}-${multiple}x-${round}`
}
