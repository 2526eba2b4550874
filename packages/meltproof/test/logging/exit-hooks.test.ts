/** Who speaks last, and when: the ways to end that a process can take by itself. */
import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { describe, it } from 'node:test'
import { deadlySignal } from '../../src/logging/stdout/deadly-signals.ts'
import { onEnd } from '../../src/logging/stdout/exit-hooks.ts'

/** With process.kill() and process.reallyExit() that only note that they were called. */
function spied(work: (said: string[]) => void): string[] {
  const host = process as unknown as Record<string, unknown>
  const { kill, reallyExit } = host
  const said: string[] = []
  host['kill'] = (...args: unknown[]) => said.push(`kill ${String(args[1])}`)
  host['reallyExit'] = (code: number) => said.push(`exit ${code}`)
  const { undo } = onEnd(() => said.push('last words'), NOTHING)
  try {
    work(said)
  } finally {
    undo()
    Object.assign(host, { kill, reallyExit })
  }
  return said
}

const { pid } = process
/** Waits. */
const NOTHING = (): boolean => false
const really = (code: number): void => (process as unknown as { reallyExit(code: number): void }).reallyExit(code)

describe('last words', () => {
  it('come before a signal that ends the process which sends it', () => {
    assert.deepEqual(
      spied(() => {
        process.kill(pid, 'SIGKILL')
        process.kill(0, 'SIGALRM')
        process.kill(pid, constants.signals.SIGKILL)
      }),
      ['last words', 'kill SIGKILL', 'last words', 'kill SIGALRM', 'last words', 'kill 9'],
    )
  })

  it('do not come for other processes, questions, what is no end, and what somebody listens for', () => {
    const listener = (): void => undefined
    process.on('SIGALRM', listener)
    const said = spied(() => {
      process.kill(pid + 1, 'SIGTERM')
      process.kill(pid, 0)
      process.kill(pid, 'SIGWINCH')
      process.kill(pid, 'SIGUSR1')
      process.kill(pid, 'SIGALRM')
    })
    process.removeListener('SIGALRM', listener)
    assert.deepEqual(
      said.filter(each => !each.startsWith('kill')),
      [],
    )
    assert.equal(said.length, 5)
  })

  it('come before reallyExit()', () => {
    assert.deepEqual(
      spied(() => really(4)),
      ['last words', 'exit 4'],
    )
  })

  it('are taken back, also where somebody stands in front', () => {
    const { emit, kill } = process
    onEnd(() => undefined, NOTHING).undo()
    assert.equal(process.emit, emit)
    assert.equal(process.kill, kill)
    assert.equal(Object.hasOwn(process, 'emit'), false)
    const said: string[] = []
    const host = process as unknown as Record<string, (...args: unknown[]) => unknown>
    host['kill'] = () => true
    const { undo } = onEnd(() => said.push('last words'), NOTHING)
    const ours = host['kill']!
    const front = (...args: unknown[]): unknown => ours(...args)
    host['kill'] = front
    undo()
    assert.equal(host['kill'], front)
    process.kill(pid, 'SIGKILL')
    host['kill'] = kill as never
    assert.deepEqual(said, [])
  })

  it('know what SIGTERM is by default, and that Node keeps SIGPROF', () => {
    assert.equal(deadlySignal(undefined), 'SIGTERM')
    assert.equal(deadlySignal(constants.signals.SIGINT), 'SIGINT')
    for (const other of ['SIGPROF', 'SIGNONE', -1, 0]) assert.equal(deadlySignal(other), undefined)
  })
})
