/** The further files of `meltlab attack`: a page and a script. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
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

  for (const [file, sentence] of [
    ['', /^meltlab: --html must be a file, .* is a folder\n$/],
    [
      'nowhere/a.html',
      /^meltlab: .*nowhere\/a\.html cannot be written \(there is no such folder\); name another file with --html\n$/,
    ],
  ] as const) {
    it(`--html ${file || 'of a folder'} is refused before anything is sent`, async () => {
      const before = asked
      const { code, stdout, stderr } = await runCli(['attack', server.url, '--html', path.join(folder, file)])
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
