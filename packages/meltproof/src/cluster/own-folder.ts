/** Folders in which the processes of one user on one machine find each other. */
import { lstatSync, mkdirSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isWorker } from '../loaded.ts'
import { quietly } from '../warnings.ts'

/**
 * Returns a folder that no other user can enter, and creates it if necessary.
 * @param name equal for processes that belong together
 * @throws if the folder cannot be created, or does not belong to this user alone
 */
export function ownFolder(name: string): string {
  // The host name distinguishes containers: their process ids overlap, and they may share a temporary folder.
  // `crypto` is not imported, because it takes longer to load than everything else here.
  const hash = process.getBuiltinModule('node:crypto').hash('sha256', `${hostname()} ${name}`)
  const folder = join(tmpdir(), `meltproof-${hash.slice(0, 16)}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const about = lstatSync(folder)
  if (!about.isDirectory() || about.uid !== process.getuid?.() || (about.mode & 0o077) !== 0) {
    throw new Error(`${folder} is not a folder that only this user can use`)
  }
  return folder
}

/** Functions that remove this process's files from the folders. */
const takes: (() => void)[] = []

/** Runs `take` once: at the `exit` event, or at {@link leave}, for signals that end the process without that event. */
export function whenLeaving(take: () => void): void {
  if (takes.length === 0) process.once('exit', leave)
  takes.push(take)
}

export function leave(): void {
  // Removing a folder fails while other processes still use it.
  for (const take of takes.splice(0)) quietly(take)
}

/** Returns the same text in all processes of one cluster, also PM2's, and in no other process of this machine. */
export function clusterName(): string {
  const primary = isWorker() ? process.ppid : process.pid
  // PM2's daemon is the primary of all its apps, so the app's name distinguishes them.
  const app = process.env['pm_id'] === undefined ? '' : process.env['name']
  return `${primary} ${app}`
}
