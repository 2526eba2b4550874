/** Folders in which processes of one user on one machine meet. */
import { lstatSync, mkdirSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isWorker } from '../loaded.ts'

/**
 * No other user can enter it.
 * @param name the same for those that belong together
 * @throws where there can be no such folder
 */
export function ownFolder(name: string): string {
  // Containers have process ids of their own, and may share their temporary folder.
  const folder = join(tmpdir(), `meltproof-${shortHash(`${hostname()} ${name}`)}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const about = lstatSync(folder)
  if (!about.isDirectory() || about.uid !== process.getuid?.() || (about.mode & 0o077) !== 0) {
    throw new Error(`${folder} is not a folder that only this user can use`)
  }
  return folder
}

export function shortHash(text: string): string {
  // Not imported: it takes more to load than all that is needed of it here.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** The same for the processes of one cluster, PM2's too, and for no others that live on this machine. */
export function clusterName(): string {
  const primary = isWorker() ? process.ppid : process.pid
  // PM2's daemon is the primary of all apps.
  const app = process.env['pm_id'] === undefined ? '' : process.env['name']
  return `${primary} ${app}`
}
