/**
 * Happy Eyeballs during a stall: a connection that the kernel has established is kept, and a dead address is still
 * given up.
 */
import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import { connect, getDefaultAutoSelectFamilyAttemptTimeout, type LookupFunction } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { Agent, request as undiciRequest } from 'undici'
import { blackhole } from '../../../lab/test/load/blackhole.ts'
import { install } from '../../src/outbound/install.ts'
import { block } from '../block.ts'
import { startDependency } from './dependency.ts'

const dependency = await startDependency()
const port = dependency.port
const securePort = Number(new URL(dependency.secureUrl).port)
/** Longer than Node waits for an attempt, 250 or 500 ms. */
const STALL_MS = getDefaultAutoSelectFamilyAttemptTimeout() + 100

/** Resolves a name to two addresses, the first of them alive, and blocks the loop just after the SYN. */
const aliveThenStall: LookupFunction = (_name, _options, callback) => {
  callback(null, [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])
  block(STALL_MS)
}

let uninstall: (() => void) | undefined
afterEach(() => uninstall?.())

const overHttp = (options: http.RequestOptions, secure = false): Promise<number> =>
  new Promise((resolve, reject) => {
    const get = secure ? https.get : http.get
    get({ host: 'two.test', agent: false, rejectUnauthorized: false, ...options } as https.RequestOptions, response => {
      response.resume().on('end', () => resolve(response.statusCode!))
    }).on('error', reject)
  })

describe('an event loop that blocks just after the first SYN', () => {
  test('without meltproof, node:http fails with ETIMEDOUT', async () => {
    await assert.rejects(overHttp({ port, path: '/hello', lookup: aliveThenStall }), {
      name: 'AggregateError',
      code: 'ETIMEDOUT',
    })
  })

  test('with meltproof, node:http connects', async () => {
    uninstall = install()
    assert.equal(await overHttp({ port, path: '/hello', lookup: aliveThenStall }), 200)
  })

  test('with meltproof, undici connects', async () => {
    uninstall = install()
    const dispatcher = new Agent({ connect: { lookup: aliveThenStall } })
    const { statusCode, body } = await undiciRequest(`http://two.test:${port}/hello`, { dispatcher })
    await body.dump()
    assert.equal(statusCode, 200)
    await dispatcher.close()
  })

  test('with meltproof, a plain socket connects', async () => {
    uninstall = install()
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host: 'two.test', port, lookup: aliveThenStall }, () => {
        assert.equal(socket.remoteAddress, '127.0.0.1')
        socket.destroy()
        resolve()
      })
      socket.on('error', reject)
    })
  })

  test('with meltproof, TLS connects', async t => {
    const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
    if (major === 22 && minor < 20) return t.skip('this Node does not announce TLS connections')
    uninstall = install()
    assert.equal(await overHttp({ port: securePort, path: '/hello', lookup: aliveThenStall }, true), 200)
  })

  test('a socket that its owner destroys during the stall stays destroyed', async () => {
    uninstall = install()
    const socket = connect({ host: 'two.test', port, lookup: aliveThenStall })
    const connected: string[] = []
    socket.on('connect', () => connected.push('connect')).on('error', () => undefined)
    await new Promise<void>(resolve => {
      socket.on('connectionAttemptTimeout', () => setImmediate(() => socket.destroy()))
      socket.on('close', () => resolve())
    })
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.equal(socket.destroyed, true)
  })
})

describe('a dead address', () => {
  /** The first address is the black hole's. On the second its port is not used, unless the test listens there. */
  const deadFirst: LookupFunction = (_name, _options, callback) =>
    callback(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ])

  test('is given up when its attempt times out, and the next address is tried', async () => {
    const hole = await blackhole()
    const alive = http.createServer((_request, response) => response.end('alive'))
    await new Promise<void>((resolve, reject) => {
      alive.on('error', reject).listen(hole.port, '127.0.0.2', resolve)
    })
    uninstall = install()
    try {
      assert.equal(await overHttp({ port: hole.port, path: '/', lookup: deadFirst }), 200)
    } finally {
      alive.close()
      alive.closeAllConnections()
      hole.close()
    }
  })

  test('fails with the errors of Node if no other address answers', async () => {
    const hole = await blackhole()
    uninstall = install()
    try {
      await assert.rejects(overHttp({ port: hole.port, path: '/', lookup: deadFirst }), error => {
        const errors = (error as AggregateError).errors as (Error & { code: string })[]
        return errors.some(e => e.code === 'ETIMEDOUT') && errors.some(e => e.code === 'ECONNREFUSED')
      })
    } finally {
      hole.close()
    }
  })
})
