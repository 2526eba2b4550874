/** The sink of a descriptor: what it opens, and what it leaves behind. */
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { describe, it } from 'node:test'
import { descriptorSink } from '../../src/logging/descriptor-sink.ts'
import { newFile, Pipe } from './child.ts'

describe('the sink of a descriptor', () => {
  it('never writes to the number it closed, which may be of another file', () => {
    const pipe = new Pipe()
    const sink = descriptorSink(pipe.writeFd, false, undefined)
    sink.write('before\n')
    sink.close()
    const path = newFile()
    const victims = [fs.openSync(path, 'w'), fs.openSync(path, 'a')]
    assert.equal(sink.write('after\n'), 6)
    sink.close()
    for (const victim of victims) fs.closeSync(victim)
    pipe.read()
    assert.equal(pipe.text, 'before\nafter\n')
    assert.equal(fs.readFileSync(path, 'utf8'), '')
  })
})
