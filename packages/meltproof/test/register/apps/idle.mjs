/** An app without a server that goes on for ever. */
console.log(JSON.stringify({ port: 0 }))
setInterval(() => undefined, 1000)
