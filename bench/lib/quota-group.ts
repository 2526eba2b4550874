/** Extends the lab's CPU cgroup: sets another period, and reads how long the kernel throttled its processes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const V1 = '/sys/fs/cgroup/cpu'
const V2 = '/sys/fs/cgroup'

export class QuotaGroup {
  readonly #folder: string
  readonly #v1: boolean

  /** Finds the cgroup of a process. */
  constructor(pid: number) {
    const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n')
    this.#v1 = existsSync(join(V1, 'cpu.cfs_quota_us'))
    const line = lines.find(each => (this.#v1 ? /^\d+:(?:[\w,]+,)?cpu[,:]/ : /^0::/).test(each))
    if (line === undefined) throw new Error(`/proc/${pid}/cgroup names no group of CPU`)
    this.#folder = join(this.#v1 ? V1 : V2, line.split(':').slice(2).join(':'))
  }

  /** Sets the quota of `share` in periods of this length. */
  setPeriod(periodMs: number, share: number): void {
    const period = periodMs * 1000
    const quota = Math.round(period * share)
    if (this.#v1) {
      // Removed first, because the kernel may reject the old quota with the new period.
      this.#write('cpu.cfs_quota_us', -1)
      this.#write('cpu.cfs_period_us', period)
      this.#write('cpu.cfs_quota_us', quota)
    } else this.#write('cpu.max', `${quota} ${period}`)
  }

  /** Total throttled time of all its processes since the group was made, ms. */
  throttledMs(): number {
    const text = readFileSync(join(this.#folder, 'cpu.stat'), 'utf8')
    const [, name, value] = /^(throttled_time|throttled_usec) (\d+)$/m.exec(text) ?? []
    return Number(value ?? 0) / (name === 'throttled_time' ? 1e6 : 1e3)
  }

  #write(file: string, value: number | string): void {
    writeFileSync(join(this.#folder, file), String(value))
  }
}
