/** The folder through which the lab and the observers exchange files. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { privateFolder, temporaryError } from '../private-folder.ts'
import { joinNodeOptions } from '../launch/node-options.ts'
import { livingOf } from '../processes/process-tree.ts'
import { writeWhole } from '../write-whole.ts'
import type { Facts, Phase } from './facts.ts'

/** Maximum time for a process to report a new phase: one with a blocked loop reports late. */
const ANSWER_MS = 5000
const LOOK_EVERY_MS = 50

export class Observed {
  readonly #folder: string

  constructor() {
    this.#folder = privateFolder('audit')
    try {
      this.#write('start')
    } catch (error) {
      throw temporaryError(error)
    }
  }

  /** The environment variables that load the observer into a command. */
  get env(): Readonly<Record<string, string | undefined>> {
    const file = path.join(import.meta.dirname, 'observer', `main${path.extname(import.meta.filename)}`)
    // This option comes first, so that the observer also sees modules that other preloads load.
    const options = joinNodeOptions(`--import ${pathToFileURL(file).href}`, process.env['NODE_OPTIONS'])
    return { MELTLAB_AUDIT: this.#folder, NODE_OPTIONS: options }
  }

  /** Resolves when every live process acts on the phase, or after `ANSWER_MS`. */
  async enter(phase: Phase, signal: AbortSignal): Promise<void> {
    this.#write(phase)
    const until = Date.now() + ANSWER_MS
    for (;;) {
      const living = await livingOf(this.facts().map(({ pid }) => pid))
      if (this.facts().every(facts => facts.phase === phase || !living.has(facts.pid))) return
      if (Date.now() > until) return
      await sleep(LOOK_EVERY_MS, undefined, { signal })
    }
  }

  facts(): readonly Facts[] {
    return readdirSync(this.#folder).flatMap(name => {
      if (!name.endsWith('.json')) return []
      try {
        return [JSON.parse(readFileSync(path.join(this.#folder, name), 'utf8')) as Facts]
      } catch {
        return [] // The app may have set a umask that hides its files.
      }
    })
  }

  serving(): readonly Facts[] {
    return this.facts().filter(({ servers }) => servers.length > 0)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 })
  }

  #write(phase: Phase): void {
    writeWhole(path.join(this.#folder, 'phase'), phase)
  }
}
