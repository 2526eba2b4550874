/** Ends at once with a word on stderr. */
console.error('config.json is missing')
process.exitCode = 3
