/**
 * Undocumented parts of Node that meltproof reads or patches (ARCHITECTURE.md lists them). Each has its own test, to
 * show what a new version of Node has changed. Other tests cover the features that use them.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { isBehindOthers } from '../src/outbound/undici-client.ts'
import {
  type HttpSocket,
  markBusy,
  markIdle,
  DISCARDED_REQUEST,
  type Parser,
} from '../src/server/connection/http-socket.ts'
import { CERTIFICATE } from './server/tls.fixture.ts'

const NODE = Number.parseInt(process.versions.node, 10)

type Private = Record<string | symbol, unknown>

interface Handle {
  readonly writeQueueSize: number
}

const open = new Set<net.Server>()
after(() => {
  for (const server of open) {
    server.close()
    ;(server as Partial<http.Server>).closeAllConnections?.()
  }
})

async function listen<S extends net.Server>(server: S): Promise<{ server: S; port: number }> {
  open.add(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

/** Sends `text` on a new connection, and accepts its server side too. */
async function send(
  server: http.Server,
  port: number,
  text: string,
): Promise<{ client: Socket; socket: HttpSocket & { parser: Parser } }> {
  const connected = once(server, 'connection')
  const client = net.connect(port, '127.0.0.1')
  after(() => client.destroy())
  const [socket] = await connected
  client.write(text)
  return { client, socket }
}

/** Runs this program in a new Node process, and returns its output. */
async function printed(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  return stdout.trim()
}

/** Returns the value under the symbol with this description. */
function bySymbol(of: object, description: string): unknown {
  const symbol = Object.getOwnPropertySymbols(of).find(each => each.description === description)
  return symbol && (of as Private)[symbol]
}

const GET = 'GET /path HTTP/1.1\r\nHost: x\r\n\r\n'

describe('the parser of a server connection', () => {
  it('has onIncoming, which makes a response for a request and emits both', async () => {
    const { server, port } = await listen(http.createServer((_, response) => response.end('served')))
    const seen: unknown[] = []
    server.on('connection', ({ parser }: HttpSocket) => {
      const { onIncoming } = parser!
      parser!.onIncoming = (request, keepAlive) => {
        seen.push(request.url, request instanceof http.IncomingMessage, keepAlive, server.listenerCount('request'))
        const answer = onIncoming!.call(parser!, request, keepAlive)
        seen.push(answer)
        return answer
      }
    })
    const { client } = await send(server, port, GET)
    const [answer] = await once(client, 'data')
    assert.match(String(answer), /served$/)
    assert.deepEqual(seen, ['/path', true, true, 1, 0])
  })

  it('has a callback parserOnHeadersComplete with known arguments, which then sets incoming', async () => {
    const { server, port } = await listen(http.createServer((_, response) => response.end()))
    let got: readonly unknown[] = []
    let incoming: IncomingMessage | null = null
    let ownSocket: unknown
    server.on('connection', (socket: HttpSocket) => {
      const parser = socket.parser!
      const index = [0, 1, 2, 3, 4, 5, 6, 7].find(each => parser[each]?.name === 'parserOnHeadersComplete')!
      const original = parser[index] as (...args: unknown[]) => unknown
      parser[index] = function (this: Parser, ...args: unknown[]): unknown {
        got = args
        ownSocket = this.socket === socket
        const result = original.apply(this, args)
        incoming = this.incoming
        return result
      } as never
    })
    const { client } = await send(server, port, GET)
    await once(client, 'data')
    const [major, minor, headers, method, url, , , upgrade, keepAlive] = got
    assert.deepEqual([major, minor, headers, url, upgrade, keepAlive], [1, 1, ['Host', 'x'], '/path', false, true])
    assert.equal(typeof method, 'number')
    assert.equal(incoming!.method, 'GET')
    assert.equal(ownSocket, true)
  })

  it('passes the rest of a request to its incoming, whatever that is', async () => {
    const urls: (string | undefined)[] = []
    const { server, port } = await listen(
      http.createServer(({ url }, response) => {
        urls.push(url)
        response.end()
      }),
    )
    server.on('connection', ({ parser }: HttpSocket) => {
      const { onIncoming } = parser!
      parser!.onIncoming = (request, keepAlive) => {
        if (request.url !== '/left') return onIncoming!.call(parser!, request, keepAlive)
        parser!.incoming = DISCARDED_REQUEST
        return 0
      }
    })
    const body = '3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n'
    const { client } = await send(
      server,
      port,
      `POST /left HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body}${GET}`,
    )
    await once(client, 'data')
    assert.deepEqual(urls, ['/path'])
  })
})

describe('a socket of node:http', () => {
  it('has its response as _httpMessage until that is finished', async () => {
    let answered!: ServerResponse
    const { server, port } = await listen(
      http.createServer((_, response) => {
        answered = response
      }),
    )
    const { client, socket } = await send(server, port, GET)
    await once(server, 'request')
    assert.equal(socket._httpMessage, answered)
    answered.end()
    await once(client, 'data')
    assert.equal(socket._httpMessage, null)
  })

  it('is not closed by closeIdleConnections() while it has an _httpMessage', async () => {
    const { server, port } = await listen(http.createServer((_, response) => response.end()))
    const { client, socket } = await send(server, port, GET)
    await once(client, 'data')
    markBusy(socket)
    server.closeIdleConnections()
    assert.equal(socket.destroyed, false)
    markIdle(socket)
    server.closeIdleConnections()
    assert.equal(socket.destroyed, true)
  })

  it('stays paused while _paused is set, and its parser continues with resume()', async () => {
    let requests = 0
    const { server, port } = await listen(
      http.createServer((_, response) => {
        requests++
        response.end()
      }),
    )
    const { client, socket } = await send(server, port, '')
    assert.equal(socket._paused, false)
    socket._paused = true
    socket.pause()
    client.write(GET)
    socket.resume()
    await sleep(50)
    assert.equal(socket.isPaused(), true)
    assert.equal(requests, 0)
    socket._paused = false
    socket.parser.resume!()
    socket.resume()
    await once(client, 'data')
    assert.equal(requests, 1)
  })

  it('reads from a _handle that has readStart() and `reading`', async () => {
    const { server, port } = await listen(http.createServer())
    const { socket } = await send(server, port, '')
    assert.equal(typeof socket._handle!.readStart, 'function')
    assert.equal(typeof socket._handle!.reading, 'boolean')
  })
})

describe('a message of node:http', () => {
  it('has its head in _header, _headerSent, _hasBody and _contentLength', async () => {
    const facts: unknown[] = []
    const { server, port } = await listen(
      http.createServer((request, response) => {
        const { _header, _headerSent } = response as unknown as Private
        facts.push(_header, _headerSent)
        response.end('four')
        const after = response as unknown as Private
        facts.push(/^HTTP\/1\.1 200 OK\r\n/.test(String(after['_header'])), after['_headerSent'])
        facts.push(after['_hasBody'], after['_contentLength'])
        void request
      }),
    )
    await http.get({ port, host: '127.0.0.1', agent: false }).on('response', response => response.resume())
    await once(server, 'request')
    const head = http.request({ port, host: '127.0.0.1', method: 'HEAD', agent: false }).end()
    await once(head, 'response')
    assert.deepEqual(facts.slice(0, 6), [null, false, true, true, true, 4])
    assert.equal(facts[10], false, '_hasBody of an answer to HEAD')
  })

  it("emits 'prefinish' when its response is complete, before 'finish'", async () => {
    let order: string[] = []
    const { server, port } = await listen(
      http.createServer((_, response) => {
        response.on('prefinish', () => order.push('prefinish'))
        response.on('finish', () => order.push('finish'))
        response.end('all')
        order = [...order, 'end']
      }),
    )
    const { client } = await send(server, port, GET)
    await once(client, 'data')
    await sleep(10)
    assert.deepEqual(order, ['prefinish', 'end', 'finish'])
  })

  it('sets _readableState.ended when all of it has arrived, before it is read', async () => {
    const { server, port } = await listen(http.createServer())
    const came = once(server, 'request')
    await send(server, port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc')
    const [request] = (await came) as [IncomingMessage & { _readableState: { ended: boolean } }]
    await sleep(20)
    assert.deepEqual([request._readableState.ended, request.readableEnded], [true, false])
  })

  it('gets its body through push() in a client, and is the res of its request', async () => {
    const { port } = await listen(http.createServer((_, response) => response.end('body')))
    const request = http.get({ port, host: '127.0.0.1', agent: false })
    const pushed: unknown[] = []
    await new Promise(resolve => {
      request.on('response', response => {
        assert.equal((request as unknown as Private)['res'], response)
        const { push } = response
        response.push = function (this: IncomingMessage, chunk: unknown, encoding?: BufferEncoding) {
          pushed.push(chunk === null ? null : String(chunk))
          return push.call(this, chunk, encoding)
        }
        response.resume().on('end', resolve)
      })
    })
    assert.deepEqual(pushed, ['body', null])
  })
})

describe('a listening socket', () => {
  it('is opened by _listen2(address, port, addressType, backlog, fd, flags)', async () => {
    const server = net.createServer()
    const internals = server as unknown as { _listen2(...args: unknown[]): unknown }
    const { _listen2 } = internals
    let got: readonly unknown[] = []
    internals._listen2 = function (this: unknown, ...args: unknown[]): unknown {
      got = args
      return _listen2.apply(this, args)
    }
    await listen(server)
    const [address, port, addressType, backlog, fd, flags] = got
    assert.deepEqual([address, port, addressType, Number(backlog) || 0, fd], ['127.0.0.1', 0, 4, 0, undefined])
    assert.ok(Number.isInteger(Number(flags) || 0), `${flags}`)
  })

  it('reads the onconnection of its _handle for each connection', async () => {
    const { server, port } = await listen(net.createServer())
    const handle = (server as unknown as { _handle: { onconnection: (...args: unknown[]) => unknown } })._handle
    const { onconnection } = handle
    let got: readonly unknown[] = []
    handle.onconnection = function (this: unknown, ...args: unknown[]): unknown {
      got = [this === handle, args[0], typeof args[1]]
      return onconnection.apply(this, args)
    }
    const connected = once(server, 'connection')
    const client = net.connect(port, '127.0.0.1')
    const [socket] = (await connected) as [Socket]
    assert.deepEqual(got, [true, 0, 'object'])
    socket.destroy()
    client.destroy()
  })

  it('is made by net._createServerHandle(), also for abstract names, and flag 2 shares a port', t => {
    const { _createServerHandle: create } = net as unknown as {
      _createServerHandle(...args: unknown[]): Record<string, (...args: unknown[]) => unknown> | number
    }
    const bind = (...args: unknown[]) => {
      const handle = create(...args)
      assert.ok(typeof handle === 'object', `${handle}`)
      return handle
    }
    const out: { port?: number } = {}
    const first = bind('127.0.0.1', 0, 4, undefined, process.platform === 'linux' ? 2 : 0)
    for (const method of ['listen', 'close', 'ref', 'unref', 'hasRef', 'getsockname']) {
      assert.equal(typeof first[method], 'function', method)
    }
    assert.equal(first['getsockname']!(out), 0)
    if (process.platform === 'linux') {
      const second = bind('127.0.0.1', out.port, 4, undefined, 2)
      assert.equal(first['listen']!(1), 0)
      assert.equal(second['listen']!(1), 0)
      second['close']!()
      const name = `\0meltproof-test-${process.pid}`
      const named = bind(name, -1, -1, undefined, 0)
      assert.equal(typeof create(name, -1, -1, undefined, 0), 'number', 'it is taken')
      named['close']!()
    } else t.diagnostic('ports are shared, and names are abstract, on Linux alone')
    first['close']!()
  })
})

describe('modules of Node', () => {
  it('are listed in process.moduleLoadList when they are loaded', async () => {
    const program = `
const names = ['events', 'net', 'cluster', '_http_server', 'https']
const { moduleLoadList } = process
const before = names.map(name => moduleLoadList.includes('NativeModule ' + name))
for (const name of ['net', 'cluster', 'http', 'https']) process.getBuiltinModule(name)
console.log(JSON.stringify([before[0], before[2], before[4], ...names.map(name => process.moduleLoadList.includes('NativeModule ' + name))]))`
    assert.deepEqual(JSON.parse(await printed(program)), [true, false, false, true, true, true, true, true])
  })

  it('define net.Server.prototype._listen2 just before its listen', () => {
    const names = Object.getOwnPropertyNames(net.Server.prototype)
    assert.equal(names.indexOf('listen') - names.indexOf('_listen2'), 1, names.join())
  })

  it('pass signals to the process.emit() that was in place when the first listener was added', async () => {
    const program = `
const { emit } = process
process.emit = function (name, ...args) {
  if (name === 'SIGUSR2') process.stdout.write('emit ')
  return Reflect.apply(emit, this, [name, ...args])
}
process.on('SIGUSR2', () => { process.stdout.write('listener'); clearInterval(timer) })
const timer = setInterval(() => undefined, 1000)
process.kill(process.pid, 'SIGUSR2')`
    assert.equal(await printed(program), 'emit listener')
  })
})

describe('output to stdout', () => {
  it('by console.log has console._stdoutErrorHandler as its callback', () => {
    const { write } = process.stdout
    let got: readonly unknown[] = []
    process.stdout.write = ((...args: unknown[]) => {
      got = args
      return true
    }) as never
    try {
      console.log('line')
    } finally {
      process.stdout.write = write
    }
    const { _stdoutErrorHandler: handler, _stderrErrorHandler: ofError } = console as unknown as Private
    assert.equal(typeof handler, 'function')
    assert.equal(typeof ofError, 'function')
    assert.ok(got[0] === 'line\n' && got.includes(handler), 'it is the callback')
  })

  it('to a pipe uses a _handle with setBlocking(), and _writableState has the default encoding', async () => {
    const program = `
const { fd, _handle } = process.stdout
const before = process.stdout._writableState.defaultEncoding
process.stdout.setDefaultEncoding('latin1')
const { defaultEncoding } = process.stdout._writableState
process.stdout.setDefaultEncoding('utf8')
console.log(fd, typeof _handle.setBlocking, before, defaultEncoding)`
    assert.equal(await printed(program), '1 function utf8 latin1')
  })
})

describe('a client request', () => {
  it('is passed to Agent.prototype.addRequest(), and has its authority', async () => {
    const { port } = await listen(http.createServer((_, response) => response.end()))
    const prototype = http.Agent.prototype as unknown as { addRequest(...args: unknown[]): unknown }
    const { addRequest } = prototype
    let given: unknown
    prototype.addRequest = function (this: unknown, ...args: unknown[]): unknown {
      given = args[0]
      return addRequest.apply(this, args)
    }
    try {
      const request = http.get({ port, host: '127.0.0.1' })
      assert.equal(given, request)
      const authority = bySymbol(request, 'kAuthority')
      // Before Node 24 the request has no authority, and its Host header has the value instead.
      if (NODE >= 24 || authority !== undefined) assert.equal(authority, `127.0.0.1:${port}`)
      const [response] = await once(request, 'response')
      response.resume()
    } finally {
      prototype.addRequest = addRequest
    }
  })

  it("sets upgradeOrConnect, and its socket emits agentRemove, before 'connect'", async () => {
    const server = http.createServer().on('connect', (_, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    const { port } = await listen(server)
    const request = http.request({ port, host: '127.0.0.1', method: 'CONNECT', path: 'a:1', agent: false }).end()
    const order: unknown[] = []
    request.on('socket', socket =>
      socket.on('agentRemove', () => order.push((request as unknown as Private)['upgradeOrConnect'])),
    )
    request.on('connect', (_, socket) => {
      order.push('connect')
      socket.destroy()
    })
    await once(request, 'close')
    assert.deepEqual(order, [true, 'connect'])
  })

  it('has a socket with a _handle, in TLS with its _parent, whose writeQueueSize falls during a large write', async () => {
    const accept = (socket: Socket): Socket => socket.pause()
    const plain = await listen(net.createServer(accept))
    const secure = await listen(tls.createServer(CERTIFICATE, accept))
    for (const [accepted, open] of [
      [once(plain.server, 'connection'), () => net.connect(plain.port, '127.0.0.1')],
      [
        once(secure.server, 'secureConnection'),
        () => tls.connect({ port: secure.port, host: '127.0.0.1', rejectUnauthorized: false }),
      ],
    ] as const) {
      const client = open()
      const { _handle } = client as unknown as { _handle: Handle & { _parent?: Handle } }
      const handle = _handle._parent ?? _handle
      assert.equal(client instanceof tls.TLSSocket, _handle._parent !== undefined)
      let drained = false
      client.write(Buffer.alloc(30_000_000), () => {
        drained = true
      })
      const [peer] = (await accepted) as [Socket]
      // The kernel has room for some of it.
      await sleep(200)
      const stuck = handle.writeQueueSize
      assert.ok(stuck > 0 && client.writableLength === 30_000_000, `${stuck} of ${client.writableLength}`)
      peer.resume()
      const sizes = new Set<number>()
      for (; !drained; await nextTurn()) sizes.add(handle.writeQueueSize)
      assert.ok(sizes.size >= 3 && Math.max(...sizes) <= stuck, [...sizes].join())
      assert.equal(handle.writeQueueSize, 0)
      client.destroy()
    }
  })

  it('of undici has its handler, URL, Client and global dispatcher where meltproof expects them', async () => {
    const { port } = await listen(http.createServer((_, response) => response.end('served')))
    let handler: unknown
    let client: object | undefined
    let connected: unknown
    const onCreate = (message: unknown): void => {
      handler = bySymbol((message as { request: object }).request, 'handler')
    }
    const onConnected = (message: unknown): void => {
      connected = bySymbol((message as { socket: object }).socket, 'client')
    }
    const onSend = (message: unknown): void => {
      client = bySymbol((message as { socket: object }).socket, 'client') as object
    }
    subscribe('undici:request:create', onCreate)
    subscribe('undici:client:connected', onConnected)
    subscribe('undici:client:sendHeaders', onSend)
    try {
      assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'served')
    } finally {
      unsubscribe('undici:request:create', onCreate)
      unsubscribe('undici:client:connected', onConnected)
      unsubscribe('undici:client:sendHeaders', onSend)
    }
    assert.equal(typeof handler, 'object')
    assert.equal(connected, client)
    const url = bySymbol(client!, 'url')
    assert.ok(url instanceof URL && url.port === String(port))
    // Without `stats`, as in undici 6.
    assert.equal(isBehindOthers(Object.defineProperty(client!, 'stats', { value: undefined }), undefined), true)
    const dispatchers = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].flatMap(
      name => (globalThis as unknown as Private)[Symbol.for(name)] ?? [],
    ) as { dispatch: unknown }[]
    assert.ok(dispatchers.length > 0)
    for (const { dispatch } of dispatchers) assert.equal(typeof dispatch, 'function')
  })

  it('to several addresses emits connectionAttempt before its _handle connects, with an oncomplete', async () => {
    const { port } = await listen(net.createServer(socket => socket.destroy()))
    const socket = net.connect({
      port,
      host: 'several.test',
      autoSelectFamily: true,
      lookup: (_, __, done) =>
        process.nextTick(done, null, [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ]),
    })
    const order: string[] = []
    socket.on('connectionAttempt', () => {
      const handle = (socket as unknown as { _handle: Record<string, (...args: unknown[]) => unknown> })._handle
      const { connect } = handle
      order.push('attempt')
      handle['connect'] = function (this: unknown, ...args: unknown[]): unknown {
        order.push('connect')
        assert.equal(typeof (args[0] as { oncomplete: unknown }).oncomplete, 'function')
        return connect!.apply(this, args)
      }
    })
    await once(socket, 'connect')
    socket.destroy()
    assert.deepEqual(order, ['attempt', 'connect'])
  })
})

describe('ARCHITECTURE.md', () => {
  it('lists every private of Node that the source names', () => {
    const root = join(import.meta.dirname, '../../..')
    const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
    const source = join(root, 'packages/meltproof/src')
    // Databases and frameworks have their own privates, which the shapes in those folders list.
    const files = globSync('**/*.ts', { cwd: source, exclude: ['databases/**', 'adapters/**'] })
    const named = new Set<string>()
    for (const file of files) {
      const code = readFileSync(join(source, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      for (const [, name] of code.matchAll(/[.{,\s['](_[a-z]\w+)\b(?=['\]}:?,;.!\s)=[(])/g)) named.add(name!)
      const symbols = /(?:description(?: [!=]==| \}\) => description ===) |valueUnder\()'(\w+)'/g
      for (const [, name] of code.matchAll(symbols)) named.add(name!)
    }
    // Not Node's: suffixes of Prometheus, parameters, a module, a mark of http-shutdown.
    const others = ['_bucket', '_sum', '_count', '_total', '_http_server', '_entry', '_orphan', '_isIdle']
    for (const name of others) named.delete(name)
    assert.ok(named.size > 10, [...named].join())
    assert.deepEqual(
      [...named].filter(name => !text.includes(name)),
      [],
    )
  })
})
