/** An HTTP/2 server that sends requests to itself, or, with STREAMS, only streams. Prints the responses. */
import http2 from 'node:http2'
import { report } from './report.cjs'

const server = http2.createServer()
if (process.env.STREAMS) server.on('stream', stream => stream.respond() ?? stream.end(report(server)))
else server.on('request', (_, response) => response.end(report(server)))
server.listen(0, '127.0.0.1', () => {
  const client = http2.connect(`http://127.0.0.1:${server.address().port}`)
  const request = client.request({ ':path': '/' }).setEncoding('utf8')
  request.on('data', text => console.log(text))
  request.on('end', () => {
    client.close()
    server.close()
  })
})
