/** `node:cluster`, which brings child processes with it, of a process that has loaded it: the workers of a cluster have. */
import type { Cluster } from 'node:cluster'
import { isLoaded } from '../loaded.ts'

export function isWorker(): boolean {
  // Its types have a default export, which it has for `import` alone.
  return isLoaded('cluster') && (process.getBuiltinModule('node:cluster') as unknown as Cluster).isWorker
}
