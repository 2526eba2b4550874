#!/usr/bin/env node
/** The `meltlab` command. Loads nothing before its signal handlers, because Ctrl-C may come at any time. */
import './node-version.ts'
import './signals.ts'
import { setImmediate } from 'node:timers/promises'

const { main } = await import('./main.ts')
// Lets a signal that came meanwhile be reported now.
await setImmediate()
await main()
