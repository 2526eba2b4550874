/** MELTPROOF_* variables: good values work, bad ones end the process before the app starts, with one sentence. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isMeltproofError } from '../../src/errors.ts'
import { optionsFromEnvironment, stdoutFromEnvironment } from '../../src/register-options.ts'
import { start } from './child.ts'

describe('variables that are right', () => {
  for (const [variables, options] of [
    [{}, {}],
    [{ MELTPROOF: 'on' }, {}],
    [{ MELTPROOF: '', MELTPROOF_LANES: '' }, {}],
    [{ MELTPROOF: 'off' }, undefined],
    [{ MELTPROOF: 'off', MELTPROOF_LANES: '4' }, undefined],
    [{ MELTPROOF_LANES: '1' }, { lanes: 1 }],
    [{ MELTPROOF_LANES: '128' }, { lanes: 128 }],
    [{ MELTPROOF_RETRY_AFTER: '3s' }, { retryAfterS: [3, 3] }],
    [{ MELTPROOF_RETRY_AFTER: '1s-86400s' }, { retryAfterS: [1, 86_400] }],
    [{ MELTPROOF_DRAIN_DELAY: '8s' }, { drainDelayMs: 8000 }],
    [{ MELTPROOF_DRAIN_DELAY: '0ms' }, { drainDelayMs: 0 }],
    [{ PATH: '/bin', MELT: 'cheese', MELTPROOFING: 'yes' }, {}],
  ] as const) {
    it(JSON.stringify(variables), () => assert.deepEqual(optionsFromEnvironment(variables), options))
  }
})

describe('variables of stdout that are right', () => {
  for (const [variables, options] of [
    [{}, {}],
    [{ MELTPROOF_STDOUT: 'on' }, {}],
    [{ MELTPROOF_STDOUT: 'off', MELTPROOF_STDOUT_FLUSH: '2s' }, undefined],
    [{ MELTPROOF_STDOUT_BUFFER: '64KB' }, { bufferBytes: 65_536 }],
    [{ MELTPROOF_STDOUT_BUFFER: '1024MB' }, { bufferBytes: 1_073_741_824 }],
    [{ MELTPROOF_STDOUT_FLUSH: '0ms' }, { flushMs: 0 }],
    [{ MELTPROOF_STDOUT_FLUSH: '60s' }, { flushMs: 60_000 }],
    [{ MELTPROOF_STDOUT_LOSS_FILE: '/var/log/lost' }, { lossFile: '/var/log/lost' }],
  ] as const) {
    it(JSON.stringify(variables), () => {
      assert.deepEqual(stdoutFromEnvironment(variables), options)
      assert.doesNotThrow(() => optionsFromEnvironment(variables))
    })
  }
})

describe('variables of stdout that are wrong', () => {
  for (const [name, value, sentence] of [
    ['MELTPROOF_STDOUT', 'no', /MELTPROOF_STDOUT must be `on` or `off`; got 'no'/],
    ['MELTPROOF_STDOUT_BUFFER', '8', /MELTPROOF_STDOUT_BUFFER must be a size with its unit.*got '8'/],
    ['MELTPROOF_STDOUT_BUFFER', '63KB', /got '63KB'/],
    ['MELTPROOF_STDOUT_BUFFER', '1025MB', /got '1025MB'/],
    ['MELTPROOF_STDOUT_FLUSH', '500', /must be a time with its unit.*got '500'/],
    ['MELTPROOF_STDOUT_FLUSH', '61s', /got '61s'/],
  ] as const) {
    it(`${name}=${value}`, () => {
      assert.throws(
        () => stdoutFromEnvironment({ [name]: value }),
        error => isMeltproofError(error) && sentence.test(error.message),
      )
    })
  }

  it('ends the process before the app starts', async () => {
    const { code, stdout, stderr } = await start('quiet.mjs', { env: { MELTPROOF_STDOUT: 'no' } }).ended
    assert.equal(code, 9)
    assert.equal(stdout, '')
    assert.match(stderr, /^meltproof\/register: MELTPROOF_STDOUT must be `on` or `off`; got 'no'\.\n$/)
  })
})

/** Variable, value, and what the sentence must say. */
const WRONG: [string, string, RegExp][] = [
  ['MELTPROOF', 'no', /MELTPROOF must be `on` or `off`; got 'no'/],
  ['MELTPROOF', 'OFF', /got 'OFF'/],
  ['MELTPROOF_OUTBOUND', '5s', /MELTPROOF_OUTBOUND must be `on` or `off`; got '5s'/],
  ['MELTPROOF_LANES', '0', /MELTPROOF_LANES must be a whole number from 1 to 128; got '0'/],
  ['MELTPROOF_LANES', '129', /from 1 to 128; got '129'/],
  ['MELTPROOF_LANES', '4.5', /got '4\.5'/],
  ['MELTPROOF_LANES', '0x10', /got '0x10'/],
  ['MELTPROOF_LANES', 'many', /got 'many'/],
  ['MELTPROOF_DRAIN_DELAY', '8', /MELTPROOF_DRAIN_DELAY must be a time with its unit.*got '8'/],
  ['MELTPROOF_DRAIN_DELAY', '61s', /got '61s'/],
  ['MELTPROOF_RETRY_AFTER', '3', /MELTPROOF_RETRY_AFTER must be whole seconds with their unit, such as `3s`.*got '3'/],
  ['MELTPROOF_RETRY_AFTER', '0s', /got '0s'/],
  ['MELTPROOF_RETRY_AFTER', '5s-1s', /got '5s-1s'/],
  ['MELTPROOF_RETRY_AFTER', '1m', /got '1m'/],
  ['MELTPROOF_RETRY_AFTER', '86401s', /got '86401s'/],
  ['MELTPROOF_LANE', '4', /does not know 'MELTPROOF_LANE'\. Did you mean 'MELTPROOF_LANES'\?/],
  ['MELTPROOF_RETRYAFTER', '4s', /Did you mean 'MELTPROOF_RETRY_AFTER'\?/],
  ['MELTPROOF_SPEED_OF_LIGHT', 'c', /does not know 'MELTPROOF_SPEED_OF_LIGHT'\. Known: MELTPROOF, /],
]

describe('a variable that is wrong', () => {
  for (const [name, value, sentence] of WRONG) {
    it(`${name}=${value}`, () => {
      assert.throws(
        () => optionsFromEnvironment({ [name]: value }),
        error => isMeltproofError(error) && sentence.test(error.message),
      )
    })
  }

  for (const [name, value, sentence] of [WRONG[0]!, WRONG[2]!, WRONG[8]!, WRONG[13]!]) {
    it(`${name}=${value} ends the process before the app starts`, async () => {
      const { code, stdout, stderr } = await start('quiet.mjs', { env: { [name]: value } }).ended
      assert.equal(code, 9)
      assert.equal(stdout, '')
      assert.match(stderr, sentence)
      assert.match(stderr, /^meltproof\/register: [^\n]+\n$/, 'one sentence, no stack')
    })
  }
})
