/**
 * `--like vegeta` beside vegeta itself. The expected lines are what vegeta v12.13.0 printed for this very server:
 * 100 requests, POST with a body of 6 bytes, `-rate 100 -duration 1s`.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { runLoad } from '../../src/load/run.ts'
import { vegetaReport } from '../../src/report/vegeta-report.ts'
import { closedPort, constant, httpServer, planFor, type TestServer } from '../load/servers.ts'
import { runCli } from '../run-cli.ts'

const vegeta = async (...args: string[]): Promise<string[]> => {
  const { code, stdout, stderr } = await runCli(['attack', ...args, '--like', 'vegeta', '--quiet'])
  assert.equal(code, 0, stderr)
  return stdout.split('\n')
}

describe('--like vegeta', () => {
  let server: TestServer
  before(async () => {
    let asked = 0
    server = await httpServer((req, res) => {
      const turn = asked++ % 10
      req.resume().on('end', () => {
        if (turn < 6) {
          res.end('hello world\n')
        } else if (turn === 6) {
          res.writeHead(503).end('busy')
        } else if (turn === 7) {
          res.writeHead(404).write('not ')
          res.end('found')
        } else if (turn === 8) {
          res.writeHead(200, { 'content-length': 100 }).write('half')
          setTimeout(() => res.destroy(), 5)
        } else {
          res.destroy()
        }
      })
    })
  })
  after(() => server.close())

  it('counts bytes, failures and statuses as vegeta does', async () => {
    const lines = await vegeta(server.url, '--rate', '100', '--duration', '1s', '--body', 'body12')
    const of = (name: string): string | undefined => lines.find(line => line.startsWith(name))
    assert.match(lines[0]!, /^Requests {6}\[total, rate, throughput\] {9}100, 100\.00, (60|5\d)\.\d\d$/)
    assert.match(of('Duration')!, /^Duration {6}\[total, attack, wait\] {13}1(\.\d+)?s, 1s, /)
    assert.match(of('Latencies')!, /^Latencies {5}\[min, mean, 50, 90, 95, 99, max\] {2}([\d.]+(µs|ms|s)(, |$)){7}$/)
    assert.equal(of('Bytes In'), 'Bytes In      [total, mean]                     850, 8.50')
    assert.equal(of('Bytes Out'), 'Bytes Out     [total, mean]                     480, 4.80')
    assert.equal(of('Success'), 'Success       [ratio]                           60.00%')
    assert.equal(of('Status Codes'), 'Status Codes  [code:count]                      0:20  200:60  404:10  503:10  ')
    const errors = lines.slice(lines.indexOf('Error Set:') + 1)
    assert.deepEqual(errors, ['404 Not Found', '503 Service Unavailable', 'reset', ''])
  })

  it('has failures in its latencies, under the status 0', async () => {
    const plan = planFor(`http://127.0.0.1:${await closedPort()}/`, { arrival: constant(100, 200) })
    const text = vegetaReport(plan, await runLoad(plan))
    assert.match(text, /^Success .* 0\.00%$/m)
    assert.match(text, /^Status Codes .* 0:20 {2}$/m)
    assert.match(text, /^Error Set:\nrefused\n$/m)
    assert.match(text, /^Latencies .* {2}[\d.]+(µs|ms), /m)
  })
})
