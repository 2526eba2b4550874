/** An app without a server that only prints that it ran. */
console.log('ran')
