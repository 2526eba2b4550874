/**
 * Loaded into each service of the storm (`--import`). The service waits for its log, as in 2013, and ends with its
 * parent.
 */
// In 2013 Node's pipes were synchronous; terminals and files still are.
;(process.stdout as unknown as { _handle?: { setBlocking?(on: boolean): void } })._handle?.setBlocking?.(true)
// A protected service does not wait for its log.
if (process.env['PROTECT'] === 'on') (await import('meltproof/stdout')).install()
process.on('disconnect', () => process.exit(0))
// The channel must not keep the process alive.
process.channel?.unref()
