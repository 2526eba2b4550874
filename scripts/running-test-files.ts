/**
 * Tracks the running test files. Each file writes a note into a folder when it starts (end-of-test-file.ts), because
 * `run()` of node:test does not say which process runs a file. A file whose event loop hangs cannot end itself when its
 * time is up, and node:test would wait for it without end, so the runner kills it and reports its name.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** Maximum duration of a file, ms. The slowest takes a minute on an idle machine. */
export const WHOLE_FILE_MS: number = Number(process.env['TEST_FILE_MS'] ?? 600_000)
/** Later than the time at which a file ends itself if it can. */
const KILL_AFTER_MS = WHOLE_FILE_MS * 1.1

/** Called in the process that runs `file`. */
export function noteRunning(folder: string, file: string): void {
  const note = join(folder, String(process.pid))
  writeFileSync(note, file)
  process.once('exit', () => rmSync(note, { force: true }))
}

/** Kills files that have not ended themselves in time. Returns a function that stops the watch. */
export function killHung(folder: string): () => void {
  const timer = setInterval(() => {
    for (const pid of readdirSync(folder)) {
      const file = lateFile(join(folder, pid))
      // A file that was killed by a signal leaves its note, and another process may have its PID now.
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
    return undefined // the file has just ended, and removed its note
  }
}

/** Empty where there is no `ps`, as on Windows; no file is killed there. */
function commandLine(pid: string): string {
  return spawnSync('ps', ['-ww', '-o', 'args=', '-p', pid], { encoding: 'utf8' }).stdout ?? ''
}
