/** The same for the processes of one cluster, PM2's too, and for no others that live on this machine. */
import { isWorker } from '../loaded.ts'

export function clusterName(): string {
  const primary = isWorker() ? process.ppid : process.pid
  // PM2's daemon is the primary of all apps.
  const app = process.env['pm_id'] === undefined ? '' : process.env['name']
  return `${primary} ${app}`
}
