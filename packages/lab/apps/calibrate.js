/** Prints how many iterations of the busy loop take one millisecond on the current core. */
import { calibrate } from './busy.js'

process.stdout.write(`${calibrate()}\n`)
