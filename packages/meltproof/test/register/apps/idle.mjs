/** An app without a server that never ends. */
console.log(JSON.stringify({ port: 0 }))
setInterval(() => undefined, 1000)
