#!/usr/bin/env node
/** The `meltlab` command. Loads nothing before its signal handlers, because Ctrl-C may be pressed at any time. */
import './node-version.ts'
import './signals.ts'

const { main } = await import('./main.ts')
await main()
