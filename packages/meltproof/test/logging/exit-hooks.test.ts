/** The hook runs last, however a process ends itself. */
import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { describe, it } from 'node:test'
import { ExitHooks, fatalSignal } from '../../src/logging/stdout/exit-hooks.ts'

/** Replaces process.kill() and process.reallyExit() with functions that only record their calls. */
function spied(work: (said: string[]) => void): string[] {
  const host = process as unknown as Record<string, unknown>
  const { kill, reallyExit } = host
  const said: string[] = []
  host['kill'] = (...args: unknown[]) => said.push(`kill ${String(args[1])}`)
  host['reallyExit'] = (code: number) => said.push(`exit ${code}`)
  const hooks = new ExitHooks(() => said.push('hook'), NOTHING)
  try {
    work(said)
  } finally {
    hooks.undo()
    Object.assign(host, { kill, reallyExit })
  }
  return said
}

const { pid } = process
/** No lines are pending. */
const NOTHING = (): boolean => false
const really = (code: number): void => (process as unknown as { reallyExit(code: number): void }).reallyExit(code)

describe('the exit hook', () => {
  it('runs before a signal that the process sends itself and that ends it', () => {
    assert.deepEqual(
      spied(() => {
        process.kill(pid, 'SIGKILL')
        process.kill(0, 'SIGALRM')
        process.kill(pid, constants.signals.SIGKILL)
      }),
      ['hook', 'kill SIGKILL', 'hook', 'kill SIGALRM', 'hook', 'kill 9'],
    )
  })

  it('does not run for other processes, signal 0, harmless signals, and signals with a listener', () => {
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

  it('runs before reallyExit()', () => {
    assert.deepEqual(
      spied(() => really(4)),
      ['hook', 'exit 4'],
    )
  })

  it('is removed by undo(), even if other code has replaced the method since', () => {
    const { emit, kill } = process
    new ExitHooks(() => undefined, NOTHING).undo()
    assert.equal(process.emit, emit)
    assert.equal(process.kill, kill)
    assert.equal(Object.hasOwn(process, 'emit'), false)
    const said: string[] = []
    const host = process as unknown as Record<string, (...args: unknown[]) => unknown>
    host['kill'] = () => true
    const hooks = new ExitHooks(() => said.push('hook'), NOTHING)
    const ours = host['kill']!
    const front = (...args: unknown[]): unknown => ours(...args)
    host['kill'] = front
    hooks.undo()
    assert.equal(host['kill'], front)
    process.kill(pid, 'SIGKILL')
    host['kill'] = kill as never
    assert.deepEqual(said, [])
  })

  it('maps a missing signal to SIGTERM, and ignores SIGPROF and unknown signals', () => {
    assert.equal(fatalSignal(undefined), 'SIGTERM')
    assert.equal(fatalSignal(constants.signals.SIGINT), 'SIGINT')
    for (const other of ['SIGPROF', 'SIGNONE', -1, 0]) assert.equal(fatalSignal(other), undefined)
  })
})
