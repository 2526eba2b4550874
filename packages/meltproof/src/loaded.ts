/**
 * Tells which Node modules the process has loaded. If a module matters only to apps that use it, call isLoaded() and
 * then `process.getBuiltinModule()`. An `import` would load it into every process: `https`, for example, brings TLS and
 * all of crypto.
 */
import type { Cluster } from 'node:cluster'

/** Other runtimes than Node do not report this. There every module counts as loaded. */
export function isLoaded(name: string): boolean {
  const { moduleLoadList } = process as { moduleLoadList?: readonly string[] }
  return moduleLoadList?.includes(`NativeModule ${name}`) ?? true
}

/** True in a worker of a cluster. Never loads `node:cluster`, which loads `child_process`: workers have it already. */
export function isWorker(): boolean {
  // The types of `node:cluster` declare a default export, but only `import` has one.
  return isLoaded('cluster') && (process.getBuiltinModule('node:cluster') as unknown as Cluster).isWorker
}

/** True for servers of `node:tls`, `node:https` and secure HTTP/2. Only they have this method. */
export function isTlsServer(server: object): boolean {
  return typeof (server as { setSecureContext?: unknown }).setSecureContext === 'function'
}

export function isHttpsServer(server: object): boolean {
  return isTlsServer(server) && server instanceof process.getBuiltinModule('node:https').Server
}

/** Recognises HTTP/2 servers by a method that only they have, because Node does not export their classes. */
export function isHttp2Server(server: object): boolean {
  return typeof (server as { updateSettings?: unknown }).updateSettings === 'function'
}
