/**
 * On a signal, ends everything that the runner has started: the test files, and their processes and process groups.
 * Otherwise they would continue, because a signal ends only the process that receives it.
 */
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { allProcesses, processTree } from '../packages/lab/src/processes/process-tree.ts'

export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Interval between checks whether the shell that npm started still runs, ms. */
const SHELL_EVERY_MS = 500
/** Time that a database may take for a clean shutdown, ms. */
const GRACE_MS = 2000

/**
 * Makes a signal end everything below this process, and then this process with 128 + the signal number. The returned
 * signal is aborted before, so that nothing else starts.
 */
export function endOnSignal(): AbortSignal {
  const ending = new AbortController()
  let isEnding = false
  const end = async (signal: (typeof SIGNALS)[number]): Promise<void> => {
    // npm forwards the SIGINT that a terminal has already sent to all processes.
    if (isEnding) return
    isEnding = true
    await endBelow(() => ending.abort())
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of SIGNALS) process.on(signal, end)
  // npm sends SIGTERM to the shell that started this process, and the shell ends without forwarding it.
  const { ppid } = process
  if (process.env['npm_lifecycle_event'] !== undefined)
    setInterval(() => process.ppid !== ppid && void end('SIGTERM'), SHELL_EVERY_MS).unref()
  return ending.signal
}

/** @param found called when the processes are known: if a parent ends, its children are no longer below this process */
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
    // The process has just ended.
  }
}
