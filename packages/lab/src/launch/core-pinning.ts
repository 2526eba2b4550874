/**
 * Gives the server one core and the lab another, so that neither can slow the other down and "one core's worth" means
 * something. Linux's `taskset` does it; without it, or with a single core, nothing is pinned and the result says so.
 */
import { execFileSync, spawnSync } from 'node:child_process'

export interface Cores {
  /** For what is measured, for what it waits for, and for the lab itself. */
  readonly server: number
  readonly dependency: number
  readonly lab: number
}

/**
 * The last cores allowed, as the first ones tend to serve the machine's interrupts. With two, the dependencies share the
 * lab's: what is measured keeps a core of its own. Undefined when there is only one. Pure.
 */
export function coresOf(allowed: readonly number[]): Cores | undefined {
  const [server, lab] = [allowed.at(-1), allowed.at(-2)]
  if (server === undefined || lab === undefined) return undefined
  return { server, lab, dependency: allowed.at(-3) ?? lab }
}

/** The cores this process may use; none where `taskset` is missing. */
export function allowedCores(): readonly number[] {
  const shown = spawnSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' })
  return shown.status === 0 ? parseCoreList(shown.stdout) : []
}

/** Pure: `pid 12's current affinity list: 0,2-4` names cores 0, 2, 3 and 4. */
export function parseCoreList(text: string): number[] {
  const list = text.trim().split(/\s+/).at(-1) ?? ''
  return list.split(',').flatMap(range => {
    const [from, to] = range.split('-').map(Number)
    if (from === undefined || !Number.isInteger(from)) return []
    return Array.from({ length: (to ?? from) - from + 1 }, (_, i) => from + i)
  })
}

/** Moves this process, its existing threads included, to `core`; threads made later inherit it. */
export function pinSelf(core: number): void {
  execFileSync('taskset', ['-acp', String(core), String(process.pid)], { stdio: 'ignore' })
}

export function pinned(command: readonly string[], core: number | undefined): readonly string[] {
  return core === undefined ? command : ['taskset', '-c', String(core), ...command]
}

export function unpinSelf(cores: readonly number[]): void {
  if (cores.length === 0) return
  execFileSync('taskset', ['-acp', cores.join(','), String(process.pid)], { stdio: 'ignore' })
}
