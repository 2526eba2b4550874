/** A Linux control group that limits processes to a share of a core. Requires root, and version 1 or 2 of cgroups. */
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { UserError } from '../user-error.ts'
import type { Context } from '../experiment/scenario.ts'

export interface CpuGroup {
  hold(pid: number): void
  share(share: number): void
}

/** Containers use 100 ms. A shorter period makes a process slow, instead of frozen for most of each period. */
const PERIOD_US = 20_000
/** The weight is ten times that of other groups on the core, which guarantees the share. */
const ROOTS = [
  {
    folder: '/sys/fs/cgroup/cpu',
    set: { 'cpu.shares': () => 10_240, 'cpu.cfs_period_us': () => PERIOD_US, 'cpu.cfs_quota_us': (us: number) => us },
  },
  { folder: '/sys/fs/cgroup', set: { 'cpu.weight': () => 1000, 'cpu.max': (us: number) => `${us} ${PERIOD_US}` } },
] as const

/** Removed after the run; create it before its processes. */
export function cpuGroup(context: Context, name: string): CpuGroup {
  for (const { folder: root, set } of ROOTS) {
    const folder = path.join(root, `meltlab-${process.pid}-${name}`)
    const share = (of: number): void => {
      for (const [file, value] of Object.entries(set)) {
        writeFileSync(path.join(folder, file), String(value(Math.round(of * PERIOD_US))))
      }
    }
    try {
      if (root === '/sys/fs/cgroup') writeFileSync(path.join(root, 'cgroup.subtree_control'), '+cpu')
      mkdirSync(folder)
    } catch {
      continue
    }
    context.cleanUp(() => rmdirSync(folder))
    try {
      share(1)
      return { share, hold: pid => writeFileSync(path.join(folder, 'cgroup.procs'), String(pid)) }
    } catch {} // There is no CPU controller here.
  }
  throw new UserError('no control group of CPU can be made here: that takes Linux, and root')
}
