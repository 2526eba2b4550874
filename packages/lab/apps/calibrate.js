/** Prints how many iterations of the busy loop take one millisecond on the core it runs on. */
import { calibrate } from './busy.js'

process.stdout.write(`${calibrate()}\n`)
