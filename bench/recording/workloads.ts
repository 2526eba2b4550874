/** The real workloads that are recorded. Plain data; the work itself is in work.mjs. */

export interface Recorded {
  readonly app: string
  /** Load as a multiple of the capacity of the bare app. */
  readonly load: number
  /** Path of the requests at `load`. */
  readonly path: string
  /** Another path that is requested at the same time, at this rate per second. */
  readonly beside?: { readonly path: string; readonly rate: number }
  /** Connections of the pool, if there is one. */
  readonly poolSize?: number
  /** The limit of the run with a fixed limit; close to the learned limit. */
  readonly limit: number
  readonly seconds: number
}

const steps = { app: 'steps', path: '/', limit: 10, seconds: 12 }
const sync = { app: 'sync', path: '/', limit: 3, seconds: 12 }
const render = { app: 'render', path: '/', limit: 10, seconds: 10 }
const mixed = { app: 'mixed', path: '/heavy', beside: { path: '/cheap', rate: 200 }, limit: 10, seconds: 12 }

export const RECORDED: Readonly<Record<string, Recorded>> = {
  'steps-0.9x': { ...steps, load: 0.9 },
  'steps-1x': { ...steps, load: 1 },
  'steps-2x': { ...steps, load: 2, seconds: 10 },
  'steps-10x': { ...steps, load: 10, seconds: 8 },
  'sync-0.9x': { ...sync, load: 0.9 },
  'sync-3x': { ...sync, load: 3 },
  'render-1x': { ...render, load: 1 },
  'render-2x': { ...render, load: 2 },
  'mixed-0.9x': { ...mixed, load: 0.9 },
  'pool-2x': { app: 'pool', path: '/', load: 2, poolSize: 10, limit: 20, seconds: 10 },
  'database-2x': { app: 'database', path: '/', load: 2, poolSize: 10, limit: 20, seconds: 10 },
  'orders-1x': { app: 'orders', path: '/', load: 1, limit: 20, seconds: 10 },
}
