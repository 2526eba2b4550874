/** The fuzz run itself, small: it passes on a healthy server, and finds what it is there to find on broken ones. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Random } from '../../sim/random.ts'
import { makeConversation } from '../../fuzz/conversations.ts'

const main = join(import.meta.dirname, '../../fuzz/main.ts')

async function fuzz(sabotage: string | undefined, ...args: string[]) {
  const env = { ...process.env, NODE_OPTIONS: '' } as Record<string, string>
  if (sabotage !== undefined) env['FUZZ_SABOTAGE'] = sabotage
  // Node 22 strips types only when asked; later ones take the flag too.
  const child = spawn(process.execPath, ['--experimental-strip-types', '--no-warnings', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const [code, out, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, out, errors }
}

const SMALL = ['--seed', '1', '--requests', '6000', '--idle', '100', '--slow', '20', '--connections', '64']

test('passes on a healthy server', async () => {
  const { code, out, errors } = await fuzz(undefined, ...SMALL)
  assert.equal(errors, '')
  assert.equal(code, 0)
  assert.match(out, /seed 1/)
  assert.match(out, /10\/10 .* inflight 0, queued 0/)
  assert.match(out, /passed: \d+ requests/)
})

for (const [sabotage, found] of [
  ['swap', /FAILED: conversation \d+ \(.*\): answer \d+ of \d+: it is the answer to request \d+/],
  ['throw', /FAILED: unhandled: Error: sabotage/],
  ['leak', /FAILED: the heap grew by/],
  ['repeat', /FAILED: scrape: a series twice: \w+\{/],
] as const) {
  test(`finds a server that can ${sabotage}, and says how to see it again`, async () => {
    const { code, errors } = await fuzz(sabotage, ...SMALL)
    assert.equal(code, 1)
    assert.match(errors, found)
    assert.match(errors, /again: .*--seed 1/)
  })
}

test('a bad option is an error that names it', async () => {
  const { code, errors } = await fuzz(undefined, '--requests', 'many')
  assert.equal(code, 2)
  assert.match(errors, /--requests must be a whole number from 1, got 'many'/)
})

test('the same seed makes the same conversations, of every kind', () => {
  const some = (seed: number) => Array.from({ length: 500 }, (_, i) => makeConversation(new Random(seed + i)))
  const first = some(7)
  assert.deepEqual(some(7), first)
  assert.notDeepEqual(some(1_000_007), first)
  assert.equal(new Set(first.map(({ kind }) => kind)).size, 13)
  for (const { bytes, requests, cuts } of first) {
    assert.ok(requests >= 1)
    assert.ok(cuts.every(cut => cut >= 0 && cut <= bytes.length))
  }
})
