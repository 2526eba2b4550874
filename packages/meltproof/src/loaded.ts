/**
 * Which Node modules the process has loaded. When a module matters only if the process uses it anyway, check here
 * before `process.getBuiltinModule()`: an `import` would load it into every process, such as `https` with TLS and all
 * of crypto.
 */
import type { Cluster } from 'node:cluster'

/** Other runtimes do not report this: there every module counts as loaded. */
export function isLoaded(name: string): boolean {
  const { moduleLoadList } = process as { moduleLoadList?: readonly string[] }
  return moduleLoadList?.includes(`NativeModule ${name}`) ?? true
}

/** True in a worker of a cluster. `node:cluster` loads child processes too, and a worker has already loaded it. */
export function isWorker(): boolean {
  // Its types declare a default export, which exists only for `import`.
  return isLoaded('cluster') && (process.getBuiltinModule('node:cluster') as unknown as Cluster).isWorker
}

/** True for servers of `node:tls`, and so of `node:https` and secure HTTP/2, which have a method that others lack. */
export function isTlsServer(server: object): boolean {
  return typeof (server as { setSecureContext?: unknown }).setSecureContext === 'function'
}

export function isHttpsServer(server: object): boolean {
  return isTlsServer(server) && server instanceof process.getBuiltinModule('node:https').Server
}

/** Recognises HTTP/2 servers by a method that others lack: their classes are not exported. */
export function isHttp2Server(server: object): boolean {
  return typeof (server as { updateSettings?: unknown }).updateSettings === 'function'
}
