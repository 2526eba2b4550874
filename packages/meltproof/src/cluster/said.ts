/**
 * Prints a message once per cluster. Only one worker can create a symbolic link with a given name, which counts while
 * that process lives. Where workers cannot share a folder, each prints the message.
 */
import { readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { whenLeaving } from './leave.ts'
import { isWorker } from '../loaded.ts'
import { clusterName, ownFolder, shortHash } from './own-folder.ts'

const mine: string[] = []

/** Never throws. A process that is not a worker always prints: each start repeats the message for the operator. */
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

/** Two processes that clean up at the same time may both print the message of an ended one. */
function forgetThoseGone(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    try {
      const life = readlinkSync(path)
      if (lifeOf(Number.parseInt(life, 10)) !== life) rmSync(path, { force: true })
    } catch {
      // Another process has created the link first.
    }
  }
}

/** Identifies a process beyond its reused id, with its start time where the system shows it. Undefined if it ended. */
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
