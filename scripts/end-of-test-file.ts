/**
 * Loaded into every test file by scripts/test.ts. Ends a file that does not end by itself, and reports what keeps it
 * open. Otherwise one server that a failed assertion left open would hang `npm test`.
 */
import { relative } from 'node:path'
import { after } from 'node:test'
import { isMainThread } from 'node:worker_threads'
import { noteRunning, WHOLE_FILE_MS } from './running-test-files.ts'

/** Time that a file may take after its last test, on a busy machine that stalls, ms. */
const AFTER_LAST_TEST_MS = Number(process.env['TEST_FILE_END_MS'] ?? 20_000)
const { TEST_FILES_RUNNING: running } = process.env
const [, file = ''] = process.argv

// Threads of a test load this file too.
if (isMainThread) {
  if (running !== undefined && /\.test\.\w+$/.test(file)) noteRunning(running, file)
  // The timers do not keep the process alive.
  setTimeout(() => end(`did not end within ${WHOLE_FILE_MS / 1000} s`), WHOLE_FILE_MS).unref()
  after(() => {
    setTimeout(() => end('was still open after its last test'), AFTER_LAST_TEST_MS).unref()
  })
}

function end(what: string): never {
  const held = Map.groupBy(process.getActiveResourcesInfo(), name => name)
  const list = [...held].map(([name, { length }]) => `${length} ${name}`).join(', ')
  console.error(`${relative('', file)} ${what}, and was ended. Held by: ${list || 'nothing that Node knows of'}`)
  process.exit(1)
}
