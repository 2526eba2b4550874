import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitWords } from '../../src/command-line.ts'
import { joinNodeOptions } from '../../src/launch/node-options.ts'
import { armsOf, parseAlso } from '../../src/melt/arms.ts'
import { UserError } from '../../src/user-error.ts'

const command = ['node', 'server.js']

test('armsOf() always returns bare and protected, and protected loads meltproof/register by NODE_OPTIONS', () => {
  const [bare, guarded, ...rest] = armsOf(command, [])
  assert.deepEqual([bare!.kind, bare!.nodeOptions], ['bare', undefined])
  assert.deepEqual(
    [guarded!.kind, guarded!.nodeOptions, guarded!.command],
    ['protected', '--import meltproof/register', command],
  )
  assert.equal(rest.length, 0)
})

for (const [text, name, nodeOptions, words] of [
  ['--import ./shed.mjs', 'shed', '--import ./shed.mjs', command],
  ['--import=./lib/shed.mjs', 'shed', '--import=./lib/shed.mjs', command],
  ['big heap=--max-old-space-size=4096', 'big heap', '--max-old-space-size=4096', command],
  ['node with-toobusy.js', 'with-toobusy', undefined, ['node', 'with-toobusy.js']],
  ['toobusy-js=node b.js', 'toobusy-js', undefined, ['node', 'b.js']],
  ["node '/a folder/b.js'", 'b', undefined, ['node', '/a folder/b.js']],
  ['node server.js --shed', 'shed', undefined, ['node', 'server.js', '--shed']],
] as const) {
  test(`--also "${text}" adds an arm named ${name}`, () => {
    const arm = parseAlso(text, command)
    assert.deepEqual([arm.name, arm.nodeOptions, arm.command], [name, nodeOptions, words])
  })
}

test('an assignment before a command sets an environment variable', () => {
  const arm = parseAlso('MODE=a=b SHED=1 node server.js', command)
  assert.deepEqual(arm.env, { MODE: 'a=b', SHED: '1' })
  assert.deepEqual(arm.command, command)
})

test('an empty --also and an unclosed quote are refused', () => {
  assert.throws(() => parseAlso('x=', command), UserError)
  assert.throws(() => parseAlso('node "b.js', command), /is not closed/)
})

test('arms get distinct names', () => {
  const arms = armsOf(command, ['--import ./bare.js', '--import ./bare.js'])
  assert.deepEqual(
    arms.map(arm => arm.name),
    ['bare', 'protected', 'bare-2', 'bare-3'],
  )
})

test('splitWords() splits as a shell does', () => {
  assert.deepEqual(splitWords(`a "b \\" c"  'd $e'\\ f ""`), ['a', 'b " c', 'd $e f', ''])
  assert.deepEqual(splitWords('  '), [])
})

test('joinNodeOptions() keeps NODE_OPTIONS from the environment', () => {
  assert.equal(joinNodeOptions('--no-warnings', '--import r'), '--no-warnings --import r')
  assert.equal(joinNodeOptions('', undefined), undefined)
})
