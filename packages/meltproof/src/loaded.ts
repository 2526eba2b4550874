/**
 * What the process has loaded of Node. Where a module matters only to a process that uses it anyway, this is asked before
 * `process.getBuiltinModule()`: an `import` would load it into every process, `https` with TLS and all of crypto.
 */
import type { Cluster } from 'node:cluster'

/** Other runtimes do not say: there it may as well be loaded. */
export function isLoaded(name: string): boolean {
  const { moduleLoadList } = process as { moduleLoadList?: readonly string[] }
  return moduleLoadList?.includes(`NativeModule ${name}`) ?? true
}

/** Of a cluster. `node:cluster` brings child processes with it, and a worker has loaded it. */
export function isWorker(): boolean {
  // Its types have a default export, which it has for `import` alone.
  return isLoaded('cluster') && (process.getBuiltinModule('node:cluster') as unknown as Cluster).isWorker
}

/** Of `node:tls`, so of `node:https` and secure HTTP/2 too: they are known by a method only they have. */
export function isTlsServer(server: object): boolean {
  return typeof (server as { setSecureContext?: unknown }).setSecureContext === 'function'
}

export function isHttpsServer(server: object): boolean {
  return isTlsServer(server) && server instanceof process.getBuiltinModule('node:https').Server
}

/** HTTP/2 servers are known by a method only they have: their classes are not exported. */
export function isHttp2Server(server: object): boolean {
  return typeof (server as { updateSettings?: unknown }).updateSettings === 'function'
}
