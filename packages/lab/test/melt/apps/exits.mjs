/** Ends at once with a message on stderr. */
console.error('config.json is missing')
process.exitCode = 3
