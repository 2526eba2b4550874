/** The one clock of the load engine: monotonic, in milliseconds, and the same in every thread of the process. */
import { performance } from 'node:perf_hooks'
import { hrtime } from 'node:process'

// performance.now() is the cheapest clock (about 45 ns) but starts at zero in every thread; hrtime() does not.
const [seconds, nanoseconds] = hrtime()
const offsetMs = seconds * 1000 + nanoseconds / 1e6 - performance.now()

export const nowMs = (): number => performance.now() + offsetMs
