/**
 * For every error, `meltlab audit` prints one sentence with a remedy, exits with code 2, and leaves no process behind.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type AuditEnd, audit } from './run-audit.ts'

const melted = (name: string): string => fileURLToPath(new URL(`../melt/apps/${name}.mjs`, import.meta.url))

describe('meltlab audit ends with one sentence', () => {
  const refused = (ended: AuditEnd, words: RegExp): void => {
    assert.match(ended.stderr.slice(ended.stderr.lastIndexOf('meltlab: ')), words)
    assert.equal(ended.code, 2, ended.stderr)
    assert.equal(ended.stdout, '')
    assert.deepEqual(ended.strays, [])
    assert.doesNotMatch(ended.stderr, /fault of meltlab|\n {4}at /)
  }
  const node = process.execPath

  it('for a missing command, a missing program or an invalid option, before anything starts', async () => {
    for (const [args, words] of [
      [[], /a command is needed/],
      [['--', 'nodee', 'x.js'], /there is no program 'nodee'/],
      [['--duration', '10', '--', node, 'x.js'], /--duration needs a unit/],
      [['--duration', '1s', '--', node, 'x.js'], /--duration must be at least 5s/],
      [['--path', 'search', '--', node, 'x.js'], /--path must start with a slash/],
      [['--users', '0', '--', node, 'x.js'], /--users must be a whole number/],
      [['--usres', '1', '--', node, 'x.js'], /did you mean --users/],
    ] as const) {
      refused(await audit(args), words)
    }
  })

  it('for a command that is not a Node.js program', async () => {
    const listens = 'import socket,time\ns=socket.socket();s.bind(("127.0.0.1",0));s.listen();time.sleep(60)'
    refused(
      await audit(['--start-timeout', '4s', '--', 'python3', '-c', listens]),
      /'python3 .*' listens, but is not a Node program/s,
    )
  })

  it('for a Node.js program whose port does not belong to an HTTP server of Node.js', async () => {
    const answers = `require('net').createServer(s => s.on('error', () => {}).once('data', () => s.end('HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n'))).listen(0)`
    refused(await audit(['--', node, '-e', answers]), /not with an HTTP\/1 server of Node/)
  })

  it('for an app that never listens, that exits, or that answers with errors only', async () => {
    const never = await audit(['--start-timeout', '1s', '--', node, melted('never-listens')])
    refused(never, /listened on no TCP port within 1s/)
    refused(await audit(['--', node, melted('exits')]), /exited with code 3 before it listened/)
    refused(
      await audit(['--', node, melted('only-errors')]),
      /answered 500 to GET .* nothing to measure; choose another request with --path/,
    )
  })

  it('for a port that is already in use', async () => {
    const server = http.createServer((_request, response) => response.end('another server')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    refused(await audit(['--', node, melted('fixed-port'), String(port)]), /its port is taken by another process/)
    const there = ['--url', `http://127.0.0.1:${port}`, '--', node, melted('fixed-port')]
    refused(await audit(there), /a process listens on .* already/)
    server.close().closeAllConnections()
  })

  it('for a temporary directory that cannot be written', async () => {
    const { TMPDIR } = process.env
    process.env['TMPDIR'] = '/proc/nowhere'
    try {
      refused(await audit(['--', node, melted('hello')]), /temporary files cannot be written .* set TMPDIR/)
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = TMPDIR
    }
  })

  it('on Ctrl-C, after the findings so far, also in a working directory that it cannot write', async () => {
    const before = process.cwd()
    process.chdir('/proc')
    try {
      const noisy = `require('http').createServer((q, r) => { console.log('asked'); r.end() }).listen(process.env.PORT)`
      let pressed = false
      const ended = await audit(['--duration', '30s', '--', node, '-e', noisy], {
        onStderr: (text, kill) => {
          if (pressed || !text.includes('10 users')) return
          // Only once, because a process that is about to exit has no handler any more.
          pressed = true
          kill('SIGINT')
        },
      })
      assert.equal(ended.code, 130, ended.stderr)
      assert.match(ended.stderr, /stopped by Ctrl-C/)
      assert.match(ended.stdout, /writes to stdout a request[\s\S]*INCOMPLETE, ended early: 1 warning/)
      assert.deepEqual(ended.strays, [])
    } finally {
      process.chdir(before)
    }
  })
})
