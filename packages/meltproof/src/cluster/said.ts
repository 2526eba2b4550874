/**
 * Decides which worker of a cluster prints a message. Every worker tries to create a symbolic link whose name stands for
 * the message, and only the worker that succeeds prints. A link is ignored once its worker has ended. Workers that cannot
 * share a folder all print the message.
 */
import { readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { whenLeaving } from './leave.ts'
import { isWorker } from '../loaded.ts'
import { clusterName, ownFolder, shortHash } from './own-folder.ts'

const mine: string[] = []

/** Never throws. A process that is not a worker always prints, so the operator sees the message after each start. */
export function isFirstToSay(text: string): boolean {
  try {
    const folder = ownFolder('said')
    forgetThoseGone(folder)
    return isFirst(join(folder, shortHash(`${clusterName()} ${text}`))) || !isWorker()
  } catch {
    return true
  }
}

function isFirst(path: string): boolean {
  try {
    symlinkSync(lifeOf(process.pid)!, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  if (mine.length === 0) whenLeaving(forgetMine)
  mine.push(path)
  return true
}

function forgetMine(): void {
  const [first] = mine
  for (const path of mine.splice(0)) rmSync(path, { force: true })
  rmdirSync(dirname(first!))
}

/** Removes the links of ended processes. If two workers do so at once, both may repeat what an ended one printed. */
function forgetThoseGone(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    try {
      const life = readlinkSync(path)
      if (lifeOf(Number.parseInt(life, 10)) !== life) rmSync(path, { force: true })
    } catch {
      // Another process has removed the link.
    }
  }
}

/** The id of a process, with its start time where the system shows it, as ids are reused. Undefined if it has ended. */
function lifeOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return `${pid} ${fields[19]}`
  } catch {
    return `${pid}`
  }
}
