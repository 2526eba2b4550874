/**
 * Parses nothing and writes a fixed answer from the bare handle of the socket, at the maximum speed of Node. Prints its
 * port.
 *
 *   node raw-server.mjs [AFTER_MS FOR_MS]
 *
 * With both arguments, it stops once for FOR_MS, AFTER_MS after the first request.
 */
const [afterMs, forMs] = process.argv.slice(2).map(Number)
const { TCP, constants } = process.binding('tcp_wrap')
const { WriteWrap, streamBaseState, kReadBytesOrError } = process.binding('stream_wrap')
const head = [
  'HTTP/1.1 200 OK',
  'Content-Type: text/plain',
  'Date: Thu, 01 Jan 1970 00:00:00 GMT',
  'Connection: keep-alive',
  'Keep-Alive: timeout=5',
  'Content-Length: 12',
  '',
  '',
].join('\r\n')
const answer = Buffer.from(`${head}hello world\n`)
const buffer = new Uint8Array(65_536)
let standsStill = afterMs > 0
const standStill = () => {
  const end = performance.now() + forMs
  while (performance.now() < end);
}
const server = new TCP(constants.SERVER)
server.bind('127.0.0.1', 0)
const serve = socket => {
  socket.setNoDelay(true)
  socket.onread = () => {
    if (streamBaseState[kReadBytesOrError] < 0) {
      socket.close()
      return
    }
    if (standsStill) setTimeout(standStill, afterMs)
    standsStill = false
    const write = new WriteWrap()
    write.handle = socket
    write.oncomplete = () => undefined
    socket.writeBuffer(write, answer)
  }
  socket['useUserBuffer'](buffer)
  socket.readStart()
}
server.onconnection = (error, socket) => void (error || serve(socket))
server.listen(511)
const name = {}
server.getsockname(name)
console.log(name.port)
