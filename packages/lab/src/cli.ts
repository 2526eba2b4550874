#!/usr/bin/env node
/** The `meltlab` command. Loads nothing before its signal handlers, because Ctrl-C may come at any time. */
import './node-version.ts'
import './signals.ts'
import { setImmediate } from 'node:timers/promises'

const { main } = await import('./main.ts')
// Lets the handlers run for a signal that came while main.ts was loading.
await setImmediate()
await main()
