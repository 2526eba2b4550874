const express = require('express')
const { report, sayPort } = require('./report.cjs')
const app = express()
app.get('/{*path}', (request, response) => {
  response.set('connection', 'close')
  response.on('finish', () => request.path === '/stop' && server.close())
  response.send(report(server))
})
const server = app.listen(0, '127.0.0.1', () => sayPort(server))
