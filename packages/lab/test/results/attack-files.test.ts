/** What `meltlab attack` writes beside its report: rows of seconds, a script. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { httpServer, type TestServer } from '../load/servers.ts'
import { runCli } from '../run-cli.ts'

describe('meltlab attack', () => {
  let folder = ''
  let asked = 0
  let server: TestServer
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'attack-'))
    server = await httpServer((_, res) => {
      asked++
      res.end('ok')
    })
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await server.close()
  })

  it('--csv writes the seconds to a file, in addition to the report', async () => {
    const file = path.join(folder, 'seconds.csv')
    const { code, stdout } = await runCli(['attack', server.url, '--rate', '20', '--duration', '1100ms', '--csv', file])
    assert.equal(code, 0)
    assert.match(stdout, /^Requests /)
    const rows = readFileSync(file, 'utf8').trimEnd().split('\r\n')
    assert.deepEqual(
      rows.map(row => row.split(',').slice(0, 2)),
      [
        ['second', 'scheduled'],
        ['0', '20'],
        ['1', '2'],
      ],
    )
  })

  for (const [file, sentence] of [
    ['', /^meltlab: --csv must be a file, .* is a folder\n$/],
    [
      'nowhere/a.csv',
      /^meltlab: .*nowhere\/a\.csv cannot be written \(there is no such folder\); name another file with --csv\n$/,
    ],
  ] as const) {
    it(`--csv ${file || 'of a folder'} is refused before anything is sent`, async () => {
      const before = asked
      const { code, stdout, stderr } = await runCli(['attack', server.url, '--csv', path.join(folder, file)])
      assert.deepEqual([code, stdout, asked], [2, '', before])
      assert.match(stderr, sentence)
      assert.equal(existsSync(path.join(folder, 'nowhere')), false)
    })
  }

  it('--export k6 prints a script and sends no requests', async () => {
    const before = asked
    const { code, stdout, stderr } = await runCli(['attack', server.url, '--users', '5', '--export', 'k6'])
    assert.deepEqual([code, stderr, asked], [0, '', before])
    assert.match(stdout, /"executor": "constant-vus"/)
  })
})
