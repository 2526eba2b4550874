/** Gives the server one core and the lab another, by `taskset`. Without it, or with one core, nothing is pinned. */
import { execFileSync, spawnSync } from 'node:child_process'

export interface Cores {
  /** The core of the measured process. The others are for its dependencies and for the lab. */
  readonly server: number
  readonly dependency: number
  readonly lab: number
}

/** The last allowed cores: the first tend to serve interrupts. With two, dependencies share the lab's. Pure. */
export function coresOf(allowed: readonly number[]): Cores | undefined {
  const [server, lab] = [allowed.at(-1), allowed.at(-2)]
  if (server === undefined || lab === undefined) return undefined
  return { server, lab, dependency: allowed.at(-3) ?? lab }
}

/** Empty without `taskset`. */
export function allowedCores(): readonly number[] {
  const shown = spawnSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' })
  return shown.status === 0 ? parseCoreList(shown.stdout) : []
}

/** Parses cores 0, 2, 3 and 4 from `pid 12's current affinity list: 0,2-4`. Pure. */
export function parseCoreList(text: string): number[] {
  const list = text.trim().split(/\s+/).at(-1) ?? ''
  return list.split(',').flatMap(range => {
    const [from, to] = range.split('-').map(Number)
    if (from === undefined || !Number.isInteger(from)) return []
    return Array.from({ length: (to ?? from) - from + 1 }, (_, i) => from + i)
  })
}

/** Moves this process and its existing threads to `core`; later threads inherit it. */
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
