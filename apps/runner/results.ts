/** Stores the findings of the checks per app in `apps/results/<name>.json`. A repeated check replaces its outcome. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CheckName } from '../checks/all.ts'
import type { Outcome } from '../checks/check.ts'
import type { Machine } from './lab.ts'

export interface Recorded extends Outcome {
  readonly date: string
  /** The last commit that changed the measured runtime. */
  readonly runtime: string
  /** The commit of the measurement. Missing in older results. */
  readonly commit?: string
  readonly machine: Machine
}

export interface AppResult {
  readonly name: string
  readonly title: string
  /** `package version`. */
  readonly version: string
  readonly checks: Readonly<Partial<Record<CheckName, Recorded>>>
}

const folder = join(import.meta.dirname, '../results')
const fileOf = (name: string): string => join(folder, `${name}.json`)

export function readResult(name: string): AppResult | undefined {
  return existsSync(fileOf(name)) ? (JSON.parse(readFileSync(fileOf(name), 'utf8')) as AppResult) : undefined
}

export function record(app: Omit<AppResult, 'checks'>, check: CheckName, outcome: Recorded): void {
  const checks = { ...readResult(app.name)?.checks, [check]: outcome }
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(app.name), `${JSON.stringify({ ...app, checks }, rounded, 2)}\n`)
}

/** See {@link Recorded.runtime}; `unknown` outside of a checkout. */
export function runtimeCommit(): string {
  const asked = spawnSync('git', ['log', '-1', '--format=%h', '--', 'packages/meltproof/src'], {
    cwd: join(folder, '../..'),
    encoding: 'utf8',
  })
  return asked.status === 0 && asked.stdout !== '' ? asked.stdout.trim() : 'unknown'
}

/** Rounds figures to four significant digits: more would only make changes of the file longer. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
