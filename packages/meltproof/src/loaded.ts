/**
 * Finds out which Node modules the process has loaded. If a module matters only to apps that use it, call isLoaded()
 * and then `process.getBuiltinModule()`. An `import` would load it into every process: `https`, for example, brings TLS
 * and all of crypto.
 */
import type { Cluster } from 'node:cluster'

/** Runtimes other than Node do not report loaded modules, so there every module counts as loaded. */
export function isLoaded(name: string): boolean {
  const { moduleLoadList } = process as { moduleLoadList?: readonly string[] }
  return moduleLoadList?.includes(`NativeModule ${name}`) ?? true
}

/** True in a worker of a cluster. Workers have loaded `node:cluster` already; other processes must not load it here. */
export function isWorker(): boolean {
  return isLoaded('cluster') && loadedCluster().isWorker
}

/**
 * False in all workers of a cluster but the first, which alone prints messages that apply to all of them, such as one
 * about an invalid variable. A message about one process is printed by that process.
 */
export function printsForCluster(): boolean {
  if (!isWorker()) return true
  // PM2's daemon is the primary of all its apps, so the ids of an app's workers need not begin at 1. An app may give
  // NODE_APP_INSTANCE another name; then each of its workers prints.
  const { pm_id: pm2, NODE_APP_INSTANCE: instance = '0' } = process.env
  return loadedCluster().worker?.id === 1 || (pm2 !== undefined && instance === '0')
}

/** Call this only if `cluster` is loaded. */
export function loadedCluster(): Cluster {
  // The types of `node:cluster` declare a default export, but only `import` has one.
  return process.getBuiltinModule('node:cluster') as unknown as Cluster
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
