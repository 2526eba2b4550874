/**
 * Simulated runs without admission do not depend on the limiter. A file caches them, and they run again when a file of
 * the simulator has changed.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Measured } from './yardsticks.ts'

const SIM = join(import.meta.dirname, '../../packages/meltproof/sim')

interface Kept {
  readonly simulator: string
  readonly runs: Readonly<Record<string, Measured>>
}

export class BareRuns {
  readonly #file: string
  readonly #simulator: string
  readonly #runs: Map<string, Measured>

  constructor(file: string, simulator: string = simulatorHash()) {
    this.#file = file
    this.#simulator = simulator
    const kept = read(file)
    this.#runs = new Map(kept?.simulator === simulator ? Object.entries(kept.runs) : [])
  }

  get(set: string, name: string, seed: number): Measured | undefined {
    return this.#runs.get(`${set}, ${seed}: ${name}`)
  }

  keep(set: string, name: string, seed: number, measured: Measured): void {
    this.#runs.set(`${set}, ${seed}: ${name}`, measured)
  }

  save(): void {
    const kept: Kept = { simulator: this.#simulator, runs: Object.fromEntries(this.#runs) }
    mkdirSync(dirname(this.#file), { recursive: true })
    // Two processes may save at the same time. A rename keeps the file whole.
    const written = `${this.#file}.${process.pid}`
    writeFileSync(written, JSON.stringify(kept))
    renameSync(written, this.#file)
  }
}

function read(file: string): Kept | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Kept
  } catch {
    return undefined
  }
}

/** Hash of the files that a run without admission depends on. */
export function simulatorHash(): string {
  const hash = createHash('sha256').update(process.version)
  const measuring = join(import.meta.dirname, 'measured-run.ts')
  const files = readdirSync(SIM).filter(name => name.endsWith('.ts'))
  for (const file of [measuring, ...files.map(name => join(SIM, name))]) hash.update(readFileSync(file))
  return hash.digest('hex')
}
