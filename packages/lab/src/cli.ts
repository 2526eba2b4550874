#!/usr/bin/env node
/** The `meltlab` command. Loads nothing before the handlers of signals stand: Ctrl-C may come at any time. */
import './node-version.ts'
import './signals.ts'
import { setImmediate } from 'node:timers/promises'

const { main } = await import('./main.ts')
// A signal that came meanwhile is told of now.
await setImmediate()
await main()
