/**
 * A preload (--import) that writes the heap in use every 100 ms to the file MELTLAB_HEAP_FILE, one line per reading:
 * milliseconds since the epoch, bytes. The write of 30 bytes is synchronous: it takes some 10 us, and the file has the
 * reading even if the process is killed.
 */
import { openSync, writeSync } from 'node:fs'

const file = process.env.MELTLAB_HEAP_FILE
if (file !== undefined) {
  const fd = openSync(file, 'a')
  setInterval(() => writeSync(fd, `${Date.now()} ${process.memoryUsage().heapUsed}\n`), 100).unref()
}
