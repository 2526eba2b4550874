/** Runs, but never listens. */
console.error('waiting for a database that is not there')
setInterval(() => {}, 1000)
