/** The effects of the gate on a server, and what the close of a response shows about its handler. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { GATE_TUNING } from '../../src/admission/gate.ts'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { FailOpen } from '../../src/fail-open.ts'
import { ProcessGate } from '../../src/process-gate.ts'
import { shadowHandlerEnded, startShadow } from '../../src/server/gate/dry-run.ts'
import { handlerHasEnded } from '../../src/server/handler/outcome.ts'
import { Exchange } from '../../src/server/request/exchange.ts'
import { safely } from '../../src/server/request/operators-function.ts'
import { type GatedService, type GatedOptions, eventually, Holding, memoryThat, startGated } from './harness.ts'
import type { RawConnection } from './raw.ts'

const request = (url: string): IncomingMessage =>
  ({ url, method: 'GET', httpVersion: '1.1', rawHeaders: ['Host', 'test'], complete: true }) as never
const turn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

interface Service extends GatedService {
  readonly holding: Holding
  /** Sends a request on a new connection. */
  readonly come: (url: string) => Promise<RawConnection>
}

/** A server with a limit of one. */
async function service(options: GatedOptions = {}): Promise<Service> {
  const holding = new Holding()
  const opened = await startGated(holding.handler, options)
  return { ...opened, holding, come: async url => (await opened.connect()).get(url) }
}

/** Requests in service and waiting. */
const counted = ({ requestPath }: Service): number[] => [requestPath.stats().inflight, requestPath.stats().queued]

describe('the gate of a server', () => {
  it('starts one request, queues the next, and starts that when the first is answered', async () => {
    const here = await service()
    const first = await here.come('/1')
    const { response } = await here.holding.take('/1')
    const second = await here.come('/2')
    await eventually('one waits', () => here.requestPath.stats().queued === 1)
    assert.deepEqual(counted(here), [1, 1])
    response.end()
    await first.answer()
    const next = await here.holding.take('/2')
    assert.deepEqual(counted(here), [1, 0])
    next.response.end()
    await second.answer()
    assert.equal(here.requestPath.stats().admitted, 2)
  })

  it('starts exempt requests, and sheds all others while memory is short', async () => {
    const here = await service({ policy: { exemptUrl: url => url === '/health', memory: memoryThat(() => true) } })
    const exempt = await here.come('/health')
    ;(await here.holding.take('/health')).response.end()
    assert.equal((await exempt.answer()).status, 200)
    assert.equal((await (await here.come('/other')).answer()).status, 503)
    const { shed, admitted, inflight, ...stats } = here.requestPath.stats()
    assert.deepEqual([stats.exempt, admitted, inflight, shed.memory], [1, 0, 0, 1])
  })

  it('does not call kind for a request that it sheds for lack of memory', async () => {
    const here = await service({ policy: { kindName: () => assert.fail(), memory: memoryThat(() => true) } })
    const client = await here.come('/1')
    assert.equal((await client.answer()).status, 503)
    assert.equal((await client.get('/2').answer()).status, 503)
  })

  it('drops a waiting request whose client disconnects', async () => {
    const here = await service()
    const first = await here.come('/1')
    const { response } = await here.holding.take('/1')
    const second = await here.come('/2')
    await eventually('one waits', () => here.requestPath.stats().queued === 1)
    second.destroy()
    await eventually('it has left', () => here.requestPath.stats().left === 1)
    response.end()
    await first.answer()
    await eventually('the server is empty', () => here.requestPath.stats().inflight === 0)
    assert.deepEqual([counted(here), here.holding.started], [[0, 0], ['/1']])
  })

  it('starts all waiting requests and fails open if it cannot answer a shed', async () => {
    const failures: string[] = []
    const pressure = (): number => {
      throw new Error('no answer')
    }
    const here = await service({ answer: { pressure }, onFailure: error => failures.push(String(error)) })
    const clients = [await here.come('/1')]
    const first = await here.holding.take('/1')
    for (const url of ['/2', '/3']) {
      clients.push(await here.come(url))
      await eventually('it waits', () => here.requestPath.stats().queued === clients.length - 1)
    }
    here.requestPath.shedAll()
    first.response.end()
    for (const url of ['/2', '/3']) (await here.holding.take(url)).response.end()
    for (const client of clients) assert.equal((await client.answer()).status, 200)
    assert.deepEqual(failures, ['Error: no answer'])
    assert.equal(here.requestPath.processGate.failOpen.isOpen, true)
  })

  it('in a dry run, starts every request, and counts those that would wait or be shed', async () => {
    const here = await service({ policy: { dryRun: true } })
    const clients = [await here.come('/1')]
    const { response } = await here.holding.take('/1')
    clients.push(await here.come('/2'))
    const second = await here.holding.take('/2')
    assert.deepEqual(counted(here), [1, 1])
    here.requestPath.shedAll()
    assert.equal(here.requestPath.stats().shed.closing, 1)
    response.end()
    second.response.end()
    for (const client of clients) assert.equal((await client.answer()).status, 200)
  })

  it('in a dry run, ends the shadow permit of a request when its handler has ended, even if the permit is lent', async () => {
    const failOpen = new FailOpen({
      stepAside: () => undefined,
      startWaiting: () => undefined,
      onFailure: error => assert.fail(String(error)),
    })
    const gate: ProcessGate<Exchange> = new ProcessGate<Exchange>({
      limiter: fixedLimit(1),
      tuning: GATE_TUNING,
      failOpen,
      answerBy: undefined,
      start: exchange => startShadow(exchange, gate),
      shed: () => assert.fail('shed'),
    })
    const [first, second] = ['/1', '/2'].map(url => new Exchange(request(url), undefined, true, performance.now()))
    second!.shadowMs = -1
    assert.deepEqual([gate.ask(first!, first!.arrivedAt), gate.ask(second!, second!.arrivedAt)], ['start', 'wait'])
    gate.permits.answered(first!, performance.now())
    gate.permits.drop(first!, performance.now())
    await turn()
    second!.lendPermit()
    shadowHandlerEnded(second!, performance.now(), gate)
    await eventually('it has ended', () => !second!.inService)
    gate.stop()
  })
})

describe('handlerHasEnded() after the response has closed', () => {
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
    it(`is ${ended} if ${what}`, () => {
      const whole = { request: { httpVersionMajor: 1 }, threw: false, ...exchange }
      assert.equal(handlerHasEnded(whole as never, connection as never, pipelined), ended)
    })
  }
})

describe('a function in the options', () => {
  const ask = (call: (request: IncomingMessage) => unknown): { answers: unknown[]; warnings: string[] } => {
    const warnings: string[] = []
    const asked = safely({
      name: 'colour',
      call,
      read: answer => (answer === 'red' ? 1 : undefined),
      expected: "'red'",
      otherwise: 'such requests are grey',
      warn: warning => warnings.push(warning),
    })
    return { answers: [asked(request('/')), asked(request('/'))], warnings }
  }

  it('is used if it returns an allowed value or undefined', () => {
    assert.deepEqual(
      ask(() => 'red'),
      { answers: [1, 1], warnings: [] },
    )
    assert.deepEqual(
      ask(() => undefined),
      { answers: [undefined, undefined], warnings: [] },
    )
  })

  it('is reported once if it throws or returns anything else', async () => {
    const boom = (): never => {
      throw new Error('boom')
    }
    for (const [call, what] of [
      [() => 7, 'returned 7, not'],
      [async () => boom(), 'returned a promise, not'],
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
