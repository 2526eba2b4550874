/** `meltlab attack --journey`: the real command against a real shop, with the file of docs/journeys.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import type { AttackDocument } from '../../../src/results/attack-document.ts'
import { checkAttack } from '../../../src/results/read-attack.ts'
import { carrying, type CliOptions, runCli } from '../../run-cli.ts'
import { startShop } from './shop.ts'

const docs = readFileSync(path.join(import.meta.dirname, '../../../../../docs/journeys.md'), 'utf8')
const example = /```json\n([\s\S]*?)```/
  .exec(docs)![1]!
  .replace('"think": "500ms"', '"think": "50ms"')
  .replace('"think": "1s"', '"think": "100ms"')
const folder = mkdtempSync(path.join(tmpdir(), 'meltlab-journey-test-'))
const file = path.join(folder, 'buy.json')
after(() => rmSync(folder, { recursive: true, force: true }))

const attack = async (text: string, args: readonly string[], options?: CliOptions) => {
  writeFileSync(file, text)
  return runCli(['attack', '--journey', file, '--quiet', ...args], options)
}
const documentOf = (stdout: string): AttackDocument => checkAttack(JSON.parse(stdout), 'it')

describe('a journey', () => {
  it('uses values extracted from responses in later requests, and reports figures for each step', async () => {
    const shop = await startShop()
    try {
      const { stdout, stderr } = await attack(example, [shop.origin, '--rate', '50', '--duration', '2s', '--json'])
      assert.notEqual(stdout, '', stderr)
      const { journeys, targets, scheduled, answered, plan } = documentOf(stdout)
      assert.deepEqual(shop.strangers, [])
      assert.equal(journeys!.scheduled, 100)
      assert.deepEqual([journeys!.completed, journeys!.failedAt], [100, [0, 0, 0]])
      assert.equal(shop.paid.length, 100)
      assert.equal(new Set(shop.paid).size, 100, 'each journey had a user of its own')
      assert.equal(scheduled, 300)
      assert.deepEqual(answered, { 200: 200, 201: 100 })
      assert.deepEqual(
        targets.map(each => each.scheduled),
        [100, 100, 100],
      )
      // Think times are part of a journey, but not of a request.
      assert.ok(journeys!.durationMs.p50! >= 150, `${journeys!.durationMs.p50}`)
      const [first, ...later] = targets.map(({ latencyMs }) => latencyMs.p50!)
      for (const [at, p50] of later.entries()) assert.ok(p50 < first! + 25 * (at + 1), `${p50}, the first ${first}`)
      assert.deepEqual(
        plan.journey!.steps.map(({ thinkMs }) => thinkMs),
        [0, 50, 100],
      )
    } finally {
      shop.close()
    }
  })

  it('fails at a step whose response lacks an extracted value, and the report names the step and value', async () => {
    const shop = await startShop({ tokenless: user => user % 10 === 0 })
    try {
      const page = path.join(folder, 'page.html')
      const { stdout } = await attack(example, [shop.origin, '--rate', '50', '--duration', '1s', '--html', page])
      assert.match(stdout, /^Journeys +50 scheduled, 45 completed \(90\.00 %\), 5 failed$/m)
      assert.match(stdout, /^ {2}failed at +step 1 \(log in\): 5$/m)
      assert.match(stdout, /^ {2}not found +log in: token, in 5 answers$/m)
      assert.match(stdout, /45 .* 3 pay: PUT \/carts\/\{\{cart\}\}\/pay/)
      const html = readFileSync(page, 'utf8')
      assert.match(html, /90 % of journeys were completed\./)
      assert.match(html, /Steps of the journey/)
      assert.doesNotMatch(html, /undefined|NaN/)
    } finally {
      shop.close()
    }
  })

  it('starts no journeys above the atOnce limit, and reports how many were not started', async () => {
    const shop = await startShop({ delayMs: 300 })
    try {
      const text = example.replace('"steps"', '"atOnce": 5, "steps"')
      const { stdout } = await attack(text, [shop.origin, '--rate', '50', '--duration', '1s', '--json'])
      const { journeys, unsent, certified, why } = documentOf(stdout)
      assert.ok(journeys!.notStarted > 30, `${journeys!.notStarted}`)
      assert.equal(unsent, journeys!.notStarted)
      assert.equal(journeys!.completed, journeys!.scheduled - journeys!.notStarted)
      assert.equal(certified, false)
      assert.ok(
        why.some(each => /journeys never started because 5 were in progress: raise "atOnce"/.test(each)),
        `${why}`,
      )
    } finally {
      shop.close()
    }
  })

  it('ends on Ctrl-C with consistent totals and no process left behind', async () => {
    const shop = await startShop()
    const mark = `journey-${process.pid}`
    try {
      const text = example.replace('"100ms"', '"1h"')
      writeFileSync(file, text)
      const ended = await runCli(
        ['attack', '--journey', file, shop.origin, '--rate', '50', '--duration', '1h', '--json'],
        {
          mark,
          onStderr: (seen, kill) => {
            if (/ 200 [1-9]/.test(seen)) kill('SIGINT')
          },
        },
      )
      assert.equal(ended.code, 130, ended.stderr)
      const { journeys, incomplete } = documentOf(ended.stdout)
      assert.equal(incomplete, true)
      assert.equal(journeys!.completed, 0)
      assert.equal(journeys!.cut, journeys!.scheduled)
      assert.deepEqual(await carrying(mark), [])
    } finally {
      shop.close()
    }
  })

  it('works over HTTP/2', async () => {
    const { startHttp2Shop } = await import('./http2-shop.ts')
    const shop = await startHttp2Shop()
    try {
      const text = JSON.stringify({
        steps: [
          { path: '/', extract: { id: { json: '/id' }, sid: { cookie: 'sid' }, tag: { header: 'x-tag' } } },
          { path: '/{{id}}/{{tag}}', headers: { cookie: 'sid={{sid}}' } },
        ],
      })
      const { stdout, stderr } = await attack(text, [
        shop.origin,
        '--http2',
        '--rate',
        '50',
        '--duration',
        '1s',
        '--json',
      ])
      assert.notEqual(stdout, '', stderr)
      const { journeys } = documentOf(stdout)
      assert.deepEqual([journeys!.scheduled, journeys!.completed, journeys!.failedAt], [50, 50, [0, 0]])
    } finally {
      shop.close()
    }
  })
})
