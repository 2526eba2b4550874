/** The commands that start an app, with an app that has a self-signed certificate. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { AuditResult } from '../src/audit/result.ts'
import type { LiveMeasured } from '../src/live/measured.ts'
import type { MeltMeasured } from '../src/melt/measured.ts'
import { AUTHORITY, SELF_SIGNED } from './load/certificates.ts'
import { carrying, type CliEnd, runCli } from './run-cli.ts'
import { app } from './melt/meltlab.ts'

const APP = ['--', process.execPath, app('https')]
const MELT = ['melt', '--quick', '--no-recovery', '--at', '0.5', '--connections', '20']
// With a given capacity, the run has this length.
const LIVE = ['live', '--capacity', '20', '--for', '3s']

// These tests mostly wait, so they can run concurrently.
describe('an app with a self-signed certificate', { concurrency: 3 }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'meltlab-tls-'))
  const file = (name: string): string => path.join(folder, name)
  before(() => {
    writeFileSync(file('own.pem'), SELF_SIGNED.cert)
    writeFileSync(file('other.pem'), AUTHORITY)
  })
  after(() => rmSync(folder, { recursive: true }))

  let runs = 0
  const run = async (args: readonly string[]): Promise<CliEnd & { readonly out: string }> => {
    const mark = `tls-${process.pid}-${runs++}`
    const out = file(mark)
    const ended = await runCli([...args, ...(args[0] === 'audit' ? [] : ['--out', out]), ...APP], { mark })
    assert.deepEqual(await carrying(mark), [])
    return { ...ended, out }
  }
  const measured = async <Measured>(args: readonly string[]): Promise<Measured> => {
    const { code, stderr, out } = await run(args)
    assert.equal(code, 0, stderr)
    const [made] = readdirSync(out)
    return JSON.parse(readFileSync(path.join(out, made!, 'result.json'), 'utf8')).measured as Measured
  }

  // --cacert and --insecure become one value for all commands (attack/tls-files.ts), so one test of each suffices.
  it('is measured by melt with --cacert with the certificate itself, bare and protected', async () => {
    const { rows, capacity } = await measured<MeltMeasured>([...MELT, '--cacert', file('own.pem')])
    assert.ok(capacity!.rate > 0)
    assert.deepEqual(
      rows.map(({ arm, goodput }) => [arm, goodput > 0]),
      [
        ['bare', true],
        ['protected', true],
      ],
    )
  })

  it('is measured by live with --insecure, bare and protected', async () => {
    const { seconds } = await measured<LiveMeasured>([...LIVE, '--insecure'])
    for (const arm of ['bare', 'protected']) {
      assert.ok(
        seconds.some(({ sides }) => sides[arm]!.goodput > 0),
        JSON.stringify(seconds),
      )
    }
  })

  for (const [what, trust] of [
    ['--insecure', () => ['--insecure']],
    ['--cacert with the certificate itself', () => ['--cacert', file('own.pem')]],
  ] as const) {
    it(`is audited with ${what}`, async () => {
      const { code, stdout, stderr } = await run(['audit', '--json', '--duration', '5s', ...trust()])
      assert.equal(code, 0, stderr)
      const { origin, requests, notes, findings } = JSON.parse(stdout) as AuditResult
      assert.match(origin, /^https:/)
      assert.ok(requests > 20, `${requests}`)
      assert.deepEqual([notes, findings], [[], []])
    })
  }

  for (const command of [MELT, LIVE, ['audit']]) {
    it(`is refused by ${command[0]} without these options, and with another authority, with a hint at both`, async () => {
      const [plain, other] = [await run(command), await run([...command, '--cacert', file('other.pem')])]
      for (const [{ code, stdout, stderr, out }, words] of [
        [plain, /uses TLS on port \d+: --cacert FILE names .*; --insecure trusts any certificate$/m],
        [
          other,
          /is not trusted \([A-Z_]*SELF_SIGNED[A-Z_]*\): --cacert FILE names .*; --insecure trusts any certificate$/m,
        ],
      ] as const) {
        assert.match(stderr.slice(stderr.lastIndexOf('meltlab: ')), words)
        const results = existsSync(out) ? readdirSync(out) : []
        assert.deepEqual([code, stdout, results], [2, '', []], stderr)
      }
    })
  }
})
