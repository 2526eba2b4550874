/** Entry point of a worker thread: one engine, controlled by messages: `{ startAt }`, and `stop` at any time. */
import { parentPort, workerData } from 'node:worker_threads'
import { Engine } from './engine.ts'
import type { EngineJob, EngineProgress, EngineReport } from './engine-job.ts'
import { warmUp } from './warm-up.ts'

export type ToWorker = { readonly kind: 'start'; readonly startAt: number } | { readonly kind: 'stop' }
export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'progress'; readonly progress: EngineProgress }
  | { readonly kind: 'done'; readonly report: EngineReport }

const TELL_EVERY_MS = 250

const port = parentPort!
const tell = (message: FromWorker): void => port.postMessage(message)
const job = workerData as EngineJob
const engine = new Engine(job)

port.on('message', (message: ToWorker) => {
  if (message.kind === 'stop') return engine.wake()
  const telling = setInterval(() => tell({ kind: 'progress', progress: engine.progress() }), TELL_EVERY_MS)
  void engine.run(message.startAt).then(report => {
    clearInterval(telling)
    tell({ kind: 'progress', progress: engine.progress() })
    tell({ kind: 'done', report })
    port.close()
  })
})

await warmUp(job.plan.arrival.kind, job.plan.http2)
if (job.control[0] === 0) await engine.open()
tell({ kind: 'ready' })
