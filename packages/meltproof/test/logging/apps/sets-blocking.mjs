/** Runs logs.mjs on a pipe that was set to blocking, as Node's pipes were in 2013. */
process.stdout._handle.setBlocking(true)
await import('./logs.mjs')
