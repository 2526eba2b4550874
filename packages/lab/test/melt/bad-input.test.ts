/**
 * For every error there is one clear sentence, exit code 2 (130 for Ctrl-C), no stray process, and the figures so far.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type net from 'node:net'
import { describe, test } from 'node:test'
import { runEach } from '../run-cli.ts'
import { app, type Ended, meltlab } from './meltlab.ts'

/** The sentence is the last one, after progress and warnings about a busy machine. */
const sentence = (ended: Ended): string => ended.stderr.slice(ended.stderr.lastIndexOf('meltlab: '))

function assertRefused(ended: Ended, words: RegExp): void {
  assert.match(sentence(ended), words)
  assert.equal(ended.code, 2, ended.stderr)
  assert.equal(ended.stdout, '')
  assert.deepEqual(ended.strays, [])
  assert.doesNotMatch(ended.stderr, /fault of meltlab|\n {4}at /)
}

// These tests mostly wait, so they can run concurrently.
describe('meltlab melt', { concurrency: 3 }, () => {
  for (const [what, args, words] of [
    [
      'an unknown flag',
      ['--quik', '--', 'node', app('hello')],
      /^meltlab: unknown option '--quik' \(did you mean --quick\?\)/,
    ],
    ['no command', [], /^meltlab: a command is needed/],
    ['a program that is not there', ['--', 'nodee', 'x.js'], /^meltlab: there is no program 'nodee'/],
    ['a bare number', ['--slo', '1', '--', 'node', app('hello')], /^meltlab: --slo needs a unit/],
    [
      'an empty --also',
      ['--also', 'x=', '--', 'node', app('hello')],
      /^meltlab: --also needs Node options or a command/,
    ],
  ] as const) {
    test(`${what} is refused before anything starts`, async () => {
      const ended = await meltlab(args)
      assertRefused(ended, words)
      assert.equal(ended.stderr.trim().split('\n').length, 1, ended.stderr)
      assert.equal(ended.result, undefined)
    })
  }

  test('a header that cannot be sent is refused by every command before anything starts', async () => {
    const headers = [
      ['Connection: keep-alive', 'header Connection is set by the generator itself.'],
      ['my header: x', 'header names must be HTTP tokens, got "my header".'],
      ['x: ☃', 'the value of header x holds a character that HTTP does not allow.'],
    ] as const
    const wrong = ['melt', 'recover', 'live', 'audit'].flatMap(name =>
      headers.map(header => [name, ...header] as const),
    )
    const ends = await runEach(wrong.map(([name, header]) => [name, '--header', header, '--', 'node', app('hello')]))
    assert.deepEqual(
      ends,
      wrong.map(([, , words]) => ({ code: 2, stdout: '', stderr: `meltlab: ${words}\n` })),
    )
  })

  test('a command that exits before it listens is reported with its exit code and last output', async () => {
    assertRefused(
      await meltlab(['--', 'node', app('exits')]),
      /^meltlab: the command exited with code 3 before it listened on a port\nits last output:\n {2}\| config.json is missing/,
    )
  })

  test('a command that never listens is refused after --start-timeout, with its last output', async () => {
    assertRefused(
      await meltlab(['--start-timeout', '1s', '--', 'node', app('never-listens')]),
      /^meltlab: the command runs but listened on no TCP port within 1s.*\n.*\n {2}\| waiting for a database/,
    )
  })

  test('a command is refused if it is not a Node program, or if its server is not an HTTP server of Node', async () => {
    assertRefused(
      // This shell starts Node without NODE_OPTIONS, which has the same effect as another program.
      await meltlab(['--', '/bin/sh', '-c', 'unset NODE_OPTIONS; exec "$0" "$1"', process.execPath, app('hello')]),
      /^meltlab: protected is not a Node program.* meltlab attack$/m,
    )
    assertRefused(
      await meltlab(['--', 'node', app('not-http')]),
      /^meltlab: protected runs Node, but meltproof protects no server in it: what listens is not an HTTP server of Node/,
    )
  })

  test('a command that answers only errors is refused with the status and its last output', async () => {
    assertRefused(
      await meltlab(['--', 'node', app('only-errors')]),
      /^meltlab: the command answered 500 to GET http:\/\/127.0.0.1:\d+\/, so there is nothing to measure.*\n.*\n {2}\| Error: relation "walkers"/,
    )
  })

  test('a port in use is refused, whether the command or --url uses it', async () => {
    const server = http.createServer((_request, response) => response.end('somebody else')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    const command = ['--', 'node', app('fixed-port'), String(port)]
    assertRefused(
      await meltlab(command),
      /^meltlab: the command exited with code 1: its port is taken by another process/,
    )
    assertRefused(
      await meltlab(['--url', `http://127.0.0.1:${port}`, ...command]),
      /^meltlab: a process listens on .* already/,
    )
    server.close()
    server.closeAllConnections()
  })

  test('a URL that refuses connections is refused, and the error has the port of the command', async () => {
    const ended = await meltlab(['--url', 'http://127.0.0.1:9', '--start-timeout', '3s', '--', 'node', app('pool')])
    assertRefused(
      ended,
      /^meltlab: nothing accepted a connection at http:\/\/127.0.0.1:9 within 3s \(the command listens on \d+\)/,
    )
  })

  test('a further arm that cannot start is refused by name before anything is measured', async () => {
    const ended = await meltlab(['--also', `broken=node ${app('exits')}`, '--', 'node', app('pool')])
    assertRefused(ended, /^meltlab: broken exited with code 3/)
    assert.equal(ended.result, undefined)
  })

  test('a command that answers a redirect is measured, and the report says that it was not followed', async () => {
    const ended = await meltlab(['--quick', '--no-recovery', '--at', '0.1', '--', 'node', app('redirects')])
    assert.equal(ended.code, 0, ended.stderr)
    const why = ended.result!.why.filter(reason => /redirect/.test(reason))
    assert.deepEqual(why, ['GET / is answered 302, and redirects are not followed; measure their target with --path'])
    assert.equal(ended.result!.certified, false)
  })

  test('a command that dies in the capacity search is reported with its exit code and last output', async () => {
    assertRefused(
      await meltlab(['--quick', '--', 'node', app('dies-under-load'), '500']),
      /^meltlab: the command exited with code 7 while its capacity was measured\n.*\n {2}\| FATAL ERROR/,
    )
  })

  test('Ctrl-C in the middle keeps what was measured and ends every process, however nested', async () => {
    let pressed = false
    const ended = await meltlab(['--quick', '--at', '1,1.5', '--', 'node', app('nested')], (text, kill) => {
      // The first step has ended, and the next one runs.
      if (!pressed && /^bare +1x/m.test(text)) {
        pressed = true
        kill('SIGINT')
      }
    })
    assert.equal(ended.code, 130, ended.stderr)
    assert.match(sentence(ended), /^meltlab: stopped by Ctrl-C/)
    assert.deepEqual(ended.strays, [])
    assert.deepEqual(ended.files, ['picture.svg', 'report.html', 'result.json'])
    assert.equal(ended.result?.incomplete, true)
    assert.equal(ended.result?.certified, false)
    assert.match(ended.result!.why[0]!, /ended early: stopped by Ctrl-C/)
    assert.equal(ended.result?.measured.rows[0]?.arm, 'bare')
    assert.match(ended.stdout, /INCOMPLETE[\s\S]*report\.html\n$/)
  })

  test('--json prints exactly one document, also when SIGTERM ends the run early', async () => {
    let told = false
    const ended = await meltlab(['--quick', '--json', '--', 'node', app('pool')], (text, kill) => {
      if (!told && /^capacity/m.test(text)) {
        told = true
        kill('SIGTERM')
      }
    })
    assert.equal(ended.code, 143)
    assert.deepEqual(ended.strays, [])
    assert.equal(JSON.parse(ended.stdout).incomplete, true)
    assert.equal(ended.stdout.trim().split('\n').length, 1)
  })
})
