/**
 * Runs as a separate process on the core that it measures, and prints how many hashes one millisecond of CPU time
 * makes. Hashing uses all of a core's execution units, as servers do, so it gets slower when another machine uses the
 * same physical core.
 */
import { pbkdf2Sync } from 'node:crypto'

/** About a quarter of a millisecond of work. */
const HASHES = 600
const INTERVAL_MS = 100

function measure(): void {
  const before = process.cpuUsage()
  pbkdf2Sync('password', 'salt', HASHES, 32, 'sha256')
  const { user, system } = process.cpuUsage(before)
  // A kernel that counts CPU time in ticks may have counted none.
  if (user + system > 0) process.stdout.write(`${(1000 * HASHES) / (user + system)}\n`)
}

setInterval(measure, INTERVAL_MS)
// Ctrl-C reaches the whole process group, but the lab continues to measure until its run has ended.
process.on('SIGINT', () => {})
// The lab has ended without ending this process.
process.stdout.on('error', () => process.exit())
