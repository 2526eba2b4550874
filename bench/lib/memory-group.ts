/** A memory cgroup for one benchmark, of version 1 or 2, whichever is mounted. Needs root. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const V1 = '/sys/fs/cgroup/memory'
const V2 = '/sys/fs/cgroup'

export class MemoryGroup {
  readonly folder: string
  readonly #v1: boolean
  readonly #limitBytes: number

  /** @throws Error if the group has members: those of another run would fill its memory too */
  constructor(name: string, limitBytes: number) {
    this.#v1 = existsSync(join(V1, 'memory.limit_in_bytes'))
    this.folder = join(this.#v1 ? V1 : V2, name)
    this.#limitBytes = limitBytes
    this.#make()
    const members = readFileSync(join(this.folder, 'cgroup.procs'), 'utf8').trim().split('\n').filter(Boolean)
    if (members.length > 0) {
      throw new Error(`${this.folder} is in use by process ${members.join(', ')}: wait for the other run, or end it`)
    }
  }

  #make(): void {
    mkdirSync(this.folder, { recursive: true })
    writeFileSync(join(this.folder, this.#v1 ? 'memory.limit_in_bytes' : 'memory.max'), String(this.#limitBytes))
  }

  /** The command that runs `command` as a member of this group from its first instruction. */
  running(command: readonly string[]): readonly [string, string[]] {
    const procs = join(this.folder, 'cgroup.procs')
    return ['sh', ['-c', `echo $$ > ${procs} && exec "$@"`, 'sh', ...command]]
  }

  /** Peak of its processes and page cache since {@link reset}, bytes. Undefined where the kernel has no such file. */
  peakBytes(): number | undefined {
    const file = join(this.folder, this.#v1 ? 'memory.max_usage_in_bytes' : 'memory.peak')
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined
  }

  /** Resets the peak and drops the page cache, so that each run begins in the same state. */
  async reset(): Promise<void> {
    if (!this.#v1) {
      await this.remove()
      this.#make()
      return
    }
    writeFileSync(join(this.folder, 'memory.force_empty'), '0')
    writeFileSync(join(this.folder, 'memory.max_usage_in_bytes'), '0')
  }

  async remove(): Promise<void> {
    // A killed process remains a member for a moment.
    for (let left = 50; left > 0; left--) {
      try {
        rmdirSync(this.folder)
        return
      } catch {
        await new Promise(resolve => setTimeout(resolve, 100))
      }
    }
  }
}
