/** Takes threads of the pool without any work. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, open, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** Of the pool, unless the environment says otherwise. */
export const THREADS = 4

const folder = mkdtempSync(join(tmpdir(), 'meltproof-threads-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let pipes = 0

/** Holds threads of the pool: opening a pipe takes one until it is opened for writing. */
export class HeldThreads {
  readonly #path: string
  readonly #opened: Promise<void>[] = []

  constructor(threads: number) {
    this.#path = join(folder, String(pipes++))
    execFileSync('mkfifo', [this.#path])
    for (let i = 0; i < threads; i++) void this.hold()
  }

  hold(): Promise<void> {
    const opened = new Promise<void>(resolve => {
      open(this.#path, 'r', (_, descriptor) => {
        closeSync(descriptor)
        resolve()
      })
    })
    this.#opened.push(opened)
    return opened
  }

  async release(): Promise<void> {
    const descriptor = openSync(this.#path, 'w')
    await Promise.all(this.#opened)
    closeSync(descriptor)
  }
}
