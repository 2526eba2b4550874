/**
 * Ends what the runner has started when it gets a signal: the test files, and the processes and groups that these have
 * started. Otherwise they would run on, because a signal ends only the process that gets it.
 */
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { allProcesses, processTree } from '../packages/lab/src/processes/process-tree.ts'

export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** How often it looks whether npm's shell still runs, ms. */
const SHELL_EVERY_MS = 500
/** A database may take this long to end in order, ms. */
const GRACE_MS = 2000

/**
 * From now on a signal ends everything below this process, and then this process with 128 + its number. What is returned is
 * aborted before: nothing else may start then.
 */
export function endOnSignal(): AbortSignal {
  const ending = new AbortController()
  let isEnding = false
  const end = async (signal: (typeof SIGNALS)[number]): Promise<void> => {
    // npm passes on the SIGINT that a terminal has already sent to all.
    if (isEnding) return
    isEnding = true
    await endBelow(() => ending.abort())
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of SIGNALS) process.on(signal, end)
  // npm sends SIGTERM to the shell that has started this process, and the shell ends without passing it on.
  const { ppid } = process
  if (process.env['npm_lifecycle_event'] !== undefined)
    setInterval(() => process.ppid !== ppid && void end('SIGTERM'), SHELL_EVERY_MS).unref()
  return ending.signal
}

/** @param found called when the processes are known: one whose parent has ended is no longer below this process. */
async function endBelow(found: () => void): Promise<void> {
  const pids = new Set<number>()
  const groups = new Set<number>()
  const asked = new Set<number>()
  for (const fromMs = Date.now(); Date.now() < fromMs + 2 * GRACE_MS; await sleep(50)) {
    const tree = await processTree(process.pid)
    const ownGroup = tree.find(({ pid }) => pid === process.pid)?.pgid
    for (const { pid, pgid } of tree) {
      if (pid !== process.pid) pids.add(pid)
      if (pgid !== ownGroup) groups.add(pgid)
    }
    found()
    const alive = (await allProcesses()).filter(
      ({ pid, pgid, state }) => state !== 'Z' && (pids.has(pid) || groups.has(pgid)),
    )
    if (alive.length === 0) return
    const isLate = Date.now() > fromMs + GRACE_MS
    for (const { pid } of alive) {
      if (isLate) kill(pid, 'SIGKILL')
      else if (!asked.has(pid)) kill(pid, 'SIGTERM')
      asked.add(pid)
    }
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}
