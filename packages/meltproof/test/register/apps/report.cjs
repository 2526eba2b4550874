/** What every app here answers: how many requests its server's guard has admitted, 'bare' without one. */
exports.report = server => {
  const guard = server[Symbol.for('meltproof.guard')]
  return guard === undefined ? 'bare' : `admitted ${guard.stats().admitted}`
}
/** Answers that, or ends the server on /stop. */
exports.listener = function (request, response) {
  response.setHeader('connection', 'close')
  response.end(exports.report(this), () => {
    if (request.url === '/stop') this.close()
  })
}
exports.sayPort = server => console.log(JSON.stringify({ port: server.address().port }))
