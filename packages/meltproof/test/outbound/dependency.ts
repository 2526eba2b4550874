/** Starts the dependency of dependency.worker.ts for a test file, and stops it after its tests. */
import { once } from 'node:events'
import { after } from 'node:test'
import { Worker } from 'node:worker_threads'
import { CAME, WRITTEN } from './dependency-counts.ts'

export interface Dependency {
  readonly url: string
  readonly secureUrl: string
  readonly port: number
  /** Open connections and unfinished requests. */
  count(): Promise<{ connections: number; open: number }>
  /** Requests that have arrived so far. */
  came(): number
  /** Responses written to the kernel so far. */
  written(): number
  /** Blocks the event loop until it has written this many responses. */
  blockUntilWritten(answers: number): void
}

export async function startDependency(): Promise<Dependency> {
  const counts = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(new URL('dependency.worker.ts', import.meta.url), { workerData: counts })
  const [ports] = (await once(worker, 'message')) as [{ port: number; securePort: number }]
  after(() => worker.terminate())
  return {
    url: `http://127.0.0.1:${ports.port}`,
    secureUrl: `https://127.0.0.1:${ports.securePort}`,
    port: ports.port,
    count: async () => {
      worker.postMessage('count')
      const [count] = (await once(worker, 'message')) as [{ connections: number; open: number }]
      return count
    },
    came: () => Atomics.load(counts, CAME),
    written: () => Atomics.load(counts, WRITTEN),
    blockUntilWritten(answers) {
      for (let written = 0; written < answers; written = Atomics.load(counts, WRITTEN)) {
        Atomics.wait(counts, WRITTEN, written)
      }
    },
  }
}
