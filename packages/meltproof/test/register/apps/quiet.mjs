/** An app without a server: only says that it ran. */
console.log('ran')
