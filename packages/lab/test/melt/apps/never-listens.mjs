/** Runs, and listens on nothing. */
console.error('waiting for a database that is not there')
setInterval(() => {}, 1000)
