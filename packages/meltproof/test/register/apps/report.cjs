/** The response of most apps here: the requests that its server's guard has admitted, or 'bare' without a guard. */
exports.report = server => {
  const guard = server[Symbol.for('meltproof.guard')]
  return guard === undefined ? 'bare' : `admitted ${guard.stats().admitted}`
}
/** Sends that response. Closes the server on /stop. */
exports.listener = function (request, response) {
  response.setHeader('connection', 'close')
  response.end(exports.report(this), () => {
    if (request.url === '/stop') this.close()
  })
}
exports.sayPort = server => console.log(JSON.stringify({ port: server.address().port }))
