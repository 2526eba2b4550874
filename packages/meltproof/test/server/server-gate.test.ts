/** The gate of a server and those who wait at it, without a socket. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { GATE_TUNING } from '../../src/admission/gate.ts'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { FailOpen } from '../../src/fail-open.ts'
import { decideDry, shadowHandlerEnded } from '../../src/server/gate/dry-run.ts'
import { ServerGate } from '../../src/server/gate/server-gate.ts'
import { Waiting } from '../../src/server/gate/waiting.ts'
import { handlerHasEnded } from '../../src/server/handler/outcome.ts'
import { Exchange } from '../../src/server/request/exchange.ts'
import { safely } from '../../src/server/request/operators-function.ts'
import type { RequestPolicy } from '../../src/server/request/policy.ts'
import { eventually, memoryThat } from './harness.ts'

const request = (url: string): IncomingMessage =>
  ({ url, method: 'GET', httpVersion: '1.1', rawHeaders: ['Host', 'test'], complete: true }) as never

interface House {
  readonly gate: ServerGate
  readonly waiting: Waiting
  readonly done: string[]
  readonly come: (url: string) => Exchange
}

/** A gate with a limit of one, and a place for requests that came past our parser. */
function house(policy: RequestPolicy = {}, fails?: string): House {
  const done: string[] = []
  const failOpen = new FailOpen({
    stepAside: () => gate.stop(),
    startWaiting: () => waiting.startAll(),
    onFailure: error => done.push(String(error)),
  })
  const gate = new ServerGate({
    limiter: fixedLimit(1),
    tuning: { ...GATE_TUNING, maxQueued: 2, turnBudgetMs: 60_000 },
    policy,
    failOpen,
    start: exchange => waiting.start(exchange),
    shed: (exchange, reason) => waiting.shed(exchange, reason),
    onUploadPaused: () => undefined,
    onGone: () => undefined,
    answerMs: undefined,
  })
  const shedding = {
    count: (reason: string) => done.push(`count ${reason}`),
    clientLeft: ({ url }: Exchange) => done.push(`left ${url}`),
    refusedByNode: () => false,
    shed: ({ url }: Exchange, reason: string) => {
      if (url === fails) throw new Error('no answer')
      done.push(`shed ${url} ${reason}`)
      return true
    },
  } as never
  const waiting = new Waiting({
    gate,
    lines: { connections: [] } as never,
    shedding,
    connectionOf: () => undefined,
    handOn: () => undefined,
  })
  const come = (url: string): Exchange => {
    const exchange = new Exchange(request(url), undefined, true, performance.now())
    exchange.resume = () => void done.push(`start ${url}`)
    const decide = policy.dryRun ? decideDry(exchange, exchange.arrivedAt, gate, shedding) : undefined
    if (waiting.settle(exchange, decide ?? gate.decide(exchange, exchange.arrivedAt))) exchange.resume()
    return exchange
  }
  return { gate, waiting, done, come }
}
const turn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

describe('the gate of a server', () => {
  it('starts one, has one wait, and starts that when the permit is recorded', async () => {
    const { gate, done, come } = house()
    const first = come('/1')
    come('/2')
    assert.deepEqual([gate.inflight, gate.queued, done], [1, 1, ['start /1']])
    gate.permits.record(first, performance.now())
    gate.permits.drop(first, performance.now())
    await turn()
    assert.deepEqual([gate.inflight, gate.queued, done], [1, 0, ['start /1', 'start /2']])
    assert.equal(gate.admitted, 2)
  })

  it('starts exempt requests, and sheds all others while memory is short', () => {
    const { gate, done, come } = house({ exemptUrl: url => url === '/health', memory: memoryThat(() => true) })
    come('/health')
    come('/other')
    assert.deepEqual(done, ['start /health', 'shed /other memory'])
    assert.deepEqual([gate.exempt, gate.admitted, gate.inflight], [1, 0, 0])
  })

  it('does not ask for the kind of a request that is shed for want of memory', () => {
    const { gate, done, come } = house({ kindName: () => assert.fail(), memory: memoryThat(() => true) })
    come('/1')
    assert.deepEqual(done, ['shed /1 memory'])
    assert.equal(gate.refuses({ socket: {} } as never, [], '/2', performance.now()), 'memory')
  })

  it('forgets one whose client went away while it waited', async () => {
    const { gate, waiting, done, come } = house()
    const first = come('/1')
    const second = come('/2')
    assert.equal(waiting.gone(second), true)
    assert.equal(waiting.gone(second), false)
    gate.permits.drop(first, performance.now())
    await turn()
    assert.deepEqual([gate.inflight, gate.queued, done], [0, 0, ['start /1', 'left /2']])
  })

  it('sheds those who wait when it closes; one that can not be answered is started, with all others', async () => {
    const { gate, done, come } = house({}, '/2')
    come('/1')
    come('/2')
    come('/3')
    gate.close()
    await turn()
    assert.deepEqual(done, ['start /1', 'Error: no answer', 'start /2', 'shed /3 closing'])
    assert.equal(gate.failOpen.isOpen, true)
  })

  it('starts everybody in a dry run, whose shadows wait and are counted', () => {
    const { gate, done, come } = house({ dryRun: true })
    const exchanges = [come('/1'), come('/2')]
    assert.deepEqual(done, ['start /1', 'start /2'])
    assert.deepEqual([gate.inflight, gate.queued], [1, 1])
    assert.deepEqual(
      exchanges.map(({ holdsPermit, ungated }) => [holdsPermit, ungated]),
      [
        [true, false],
        [false, true],
      ],
    )
    gate.close()
    assert.deepEqual(done.slice(2), ['count closing'])
  })

  it('ends the shadow of one that goes on without its permit when its handler has ended', async () => {
    const { gate, come } = house({ dryRun: true })
    const [first, second] = [come('/1'), come('/2')]
    gate.permits.record(first!, performance.now())
    await turn()
    second!.lendPermit()
    shadowHandlerEnded(second!, performance.now(), gate)
    await eventually('it has ended', () => !second!.inService)
  })
})

describe('whether a handler has ended whose response is closed', () => {
  const socket = { errored: null, readableEnded: false }
  for (const [what, exchange, connection, pipelined, ended] of [
    ['Node answered by itself', { response: undefined }, undefined, false, true],
    ['it has ended the response', { response: { writableEnded: true } }, { socket }, false, true],
    ['it threw', { response: {}, threw: true }, { socket }, false, true],
    ['it destroyed the response', { response: { errored: new Error('x') } }, { socket }, false, true],
    ['its turn never came', { response: { errored: new Error('x') } }, { socket, cut: true }, true, false],
    ['it destroyed the socket', { response: {} }, { socket }, false, true],
    ['the client sent its end', { response: {} }, { socket: { ...socket, readableEnded: true } }, false, false],
    ['the client reset it', { response: {} }, { socket: { errored: { syscall: 'read' } } }, false, false],
    ['Node timed out', { response: {} }, { socket, cut: true }, false, false],
  ] as const) {
    it(`${ended ? 'yes' : 'no'}: ${what}`, () => {
      const whole = { request: { httpVersionMajor: 1 }, threw: false, ...exchange }
      assert.equal(handlerHasEnded(whole as never, connection as never, pipelined), ended)
    })
  }
})

describe('a function of the operator’s', () => {
  const ask = (call: (request: IncomingMessage) => unknown): { answers: unknown[]; warnings: string[] } => {
    const warnings: string[] = []
    const asked = safely(
      {
        name: 'colour',
        call,
        read: answer => (answer === 'red' ? 1 : undefined),
        expected: "'red'",
        otherwise: 'such requests are grey',
      },
      warning => warnings.push(warning),
    )
    return { answers: [asked(request('/')), asked(request('/'))], warnings }
  }

  it('is believed when its answer makes sense, or is none', () => {
    assert.deepEqual(
      ask(() => 'red'),
      { answers: [1, 1], warnings: [] },
    )
    assert.deepEqual(
      ask(() => undefined),
      { answers: [undefined, undefined], warnings: [] },
    )
  })

  it('that answers nonsense, a promise that rejects, or throws is reported once', async () => {
    const boom = (): never => {
      throw new Error('boom')
    }
    for (const [call, what] of [
      [() => 7, 'answered 7, not'],
      [async () => boom(), 'answered a promise, not'],
      [boom, 'threw Error: boom'],
    ] as const) {
      const { answers, warnings } = ask(call)
      assert.deepEqual(answers, [undefined, undefined])
      assert.equal(warnings.length, 1)
      assert.ok(warnings[0]!.startsWith(`the colour function ${what}`), warnings[0])
      assert.ok(warnings[0]!.endsWith('; such requests are grey'))
    }
    await turn()
  })
})
