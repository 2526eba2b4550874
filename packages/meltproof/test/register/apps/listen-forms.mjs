/** Calls listen() in every form, then in ways that fail. Prints the results as JSON, with a response for each form. */
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { report } from './report.cjs'

const socketPath = path.join(os.tmpdir(), `meltproof-listen-${process.pid}.sock`)
const controller = new AbortController()
const forms = {
  '()': server => server.listen(),
  '(port)': server => server.listen(0),
  '(port, callback)': (server, called) => server.listen(0, called),
  '(port, host)': server => server.listen(0, '127.0.0.1'),
  '(port, host, backlog, callback)': (server, called) => server.listen(0, '127.0.0.1', 64, called),
  '(path)': server => server.listen(socketPath),
  '({ port })': server => server.listen({ port: 0 }),
  '({ port, exclusive, signal }, callback)': (server, called) =>
    server.listen({ port: 0, exclusive: true, signal: controller.signal }, called),
  '(callback)': (server, called) => server.listen(called),
  '("0")': server => server.listen('0'),
}
const results = {}
for (const [form, listen] of Object.entries(forms)) {
  const server = http.createServer((_, response) => response.end(report(server)))
  let called = false
  const returned = listen(server, () => {
    called = true
  })
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  const address = server.address()
  const where = typeof address === 'string' ? { socketPath: address } : { port: address.port, host: '127.0.0.1' }
  const said = await new Promise((resolve, reject) => {
    http
      .get({ ...where, agent: false }, response => response.setEncoding('utf8').on('data', resolve))
      .on('error', reject)
  })
  results[form] = { said, returned: returned === server, called: form.includes('callback') ? called : undefined }
  await new Promise(resolve => server.close(resolve))
}
const taken = http.createServer().listen(0)
await new Promise(resolve => taken.once('listening', resolve))
results['a port in use'] = await new Promise(resolve =>
  http
    .createServer()
    .once('error', error => resolve(error.code))
    .once('listening', () => resolve('listening'))
    .listen(taken.address().port),
)
try {
  taken.listen(0)
} catch (error) {
  results['listening twice'] = error.code
}
try {
  http.createServer().listen({})
} catch (error) {
  results['a bad argument'] = error.code
}
taken.close()
console.log(JSON.stringify(results))
