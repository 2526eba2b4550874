/**
 * The test files that run at the moment. Each notes itself in a folder when it starts (end-of-test-file.ts), because
 * `run()` of node:test does not say which process runs a file. One whose event loop never turns again cannot end itself
 * when its time is up, and node:test waits for it without end: the runner kills it, and names it.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** A file takes no longer than this, ms; the slowest takes a minute, on a machine that has nothing else to do. */
export const WHOLE_FILE_MS: number = Number(process.env['TEST_FILE_MS'] ?? 600_000)
/** A file that can ends itself before. */
const KILL_AFTER_MS = WHOLE_FILE_MS * 1.1

/** Called in the process that runs `file`. */
export function noteRunning(folder: string, file: string): void {
  const note = join(folder, String(process.pid))
  writeFileSync(note, file)
  process.once('exit', () => rmSync(note, { force: true }))
}

/** Kills those that have not ended themselves in time. Returns what stops the watch. */
export function killHung(folder: string): () => void {
  const timer = setInterval(() => {
    for (const pid of readdirSync(folder)) {
      const file = lateFile(join(folder, pid))
      // A file that was killed by a signal leaves its note, and another process may have its number by now.
      if (file === undefined || !commandLine(pid).includes(basename(file))) continue
      rmSync(join(folder, pid), { force: true })
      const late = `did not end within ${WHOLE_FILE_MS / 1000} s, and its event loop did not turn`
      console.error(`${relative('', file)} ${late}: it was killed`)
      process.kill(Number(pid), 'SIGKILL')
    }
  }, 1000)
  timer.unref()
  return () => clearInterval(timer)
}

function lateFile(note: string): string | undefined {
  try {
    return Date.now() - statSync(note).mtimeMs < KILL_AFTER_MS ? undefined : readFileSync(note, 'utf8')
  } catch {
    return undefined // it ended just now, and took its note away
  }
}

/** Empty where there is no `ps`: on Windows no file is killed. */
function commandLine(pid: string): string {
  return spawnSync('ps', ['-ww', '-o', 'args=', '-p', pid], { encoding: 'utf8' }).stdout ?? ''
}
