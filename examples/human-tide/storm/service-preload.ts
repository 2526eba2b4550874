/** Loaded into each service of the storm (`--import`): as a service of 2013 it waits for its log, and it ends with its parent. */
// Pipes were synchronous in Node then; terminals and files are still.
;(process.stdout as unknown as { _handle?: { setBlocking?(on: boolean): void } })._handle?.setBlocking?.(true)
// A protected service does not wait for its log.
if (process.env['PROTECT'] === 'on') (await import('meltproof/stdout')).install()
process.on('disconnect', () => process.exit(0))
// To hear of that must not keep it alive.
process.channel?.unref()
