// Load on the service's most expensive call. Four commands, each of which prints JSON:
// - `capacity`: the highest rate, and the number of users that reached it;
// - `busy USERS MS`: the rate that this number of users reaches;
// - `offer RATE MS`: the results of the calls of an open loop;
// - `phases JSON`: the results of each second, for { phases: [[rate, seconds], ...], retries }, from clients that retry.
import grpc from '@grpc/grpc-js'
import { clientOf } from './service.mjs'

const SLO_MS = 1000
const TIMEOUT_MS = 5000
const CLIENTS = 50
const BUSY = [grpc.status.UNAVAILABLE, grpc.status.RESOURCE_EXHAUSTED]

const clients = Array.from({ length: CLIENTS }, () => clientOf({ 'grpc.use_local_subchannel_pool': 1 }))
const score = number =>
  new Promise(resolve => {
    const deadline = Date.now() + TIMEOUT_MS
    clients[number % CLIENTS].score({ name: 'stranger' }, { deadline }, resolve)
  })
await Promise.all(clients.map((_, number) => score(number)))

/** The rate of good calls that the users get. In a loop of more than 2 s, the first second does not count. */
async function closedLoop(users, durationMs) {
  const began = Date.now()
  const from = durationMs > 2000 ? 1000 : 0
  let done = 0
  const user = async number => {
    for (let asked = 0; asked < durationMs; asked = Date.now() - began) {
      if ((await score(number)) === null && asked >= from) done++
    }
  }
  await Promise.all(Array.from({ length: users }, (_, number) => user(number)))
  return (done * 1000) / (durationMs - from)
}

const dueTimes = (rate, calls) => Array.from({ length: calls }, (_, n) => (n * 1000) / rate)

/** Calls `send` for each of these times, ms after `started`, and waits until all calls have ended. */
async function openLoop(due, started, send) {
  const calls = []
  let next = 0
  await new Promise(resolve => {
    const tick = () => {
      const elapsed = performance.now() - started
      for (; next < due.length && due[next] <= elapsed; next++) calls.push(send(due[next], next))
      if (next < due.length) setTimeout(tick, 1)
      else resolve()
    }
    tick()
  })
  await Promise.all(calls)
}

/** The value at this quantile, or null without values. */
const at = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? null

async function offer(rate, durationMs) {
  const load = { scheduled: Math.floor((rate * durationMs) / 1000), unsent: 0, good: 0, shed: 0, other: {}, failed: {} }
  const goodAt = []
  const latencies = []
  const count = (counts, what) => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  const started = performance.now()
  const send = async (dueMs, number) => {
    const error = await score(number)
    const tookMs = performance.now() - started - dueMs
    if (error === null) {
      latencies.push(tookMs)
      if (tookMs > SLO_MS) return
      load.good++
      goodAt.push(dueMs)
    } else if (/ECONNREFUSED|No connection established/.test(error.details)) count(load.failed, 'refused')
    else if (/dropped|ECONNRESET|RST_STREAM|GOAWAY/.test(error.details)) count(load.failed, 'reset')
    else if (error.code === grpc.status.DEADLINE_EXCEEDED) count(load.failed, 'response-timeout')
    else if (BUSY.includes(error.code)) load.shed++
    else count(load.other, grpc.status[error.code])
  }
  await openLoop(dueTimes(rate, load.scheduled), started, send)
  const wholeS = Math.floor(durationMs / 1000)
  const counted = goodAt.filter(dueMs => dueMs >= 1000 && dueMs < wholeS * 1000).length
  return {
    ...load,
    goodput: counted / (wholeS - 1),
    okP50Ms: at(latencies, 0.5),
    okP99Ms: at(latencies, 0.99),
    doubts: [],
  }
}

/** The pause before the first retry, ms, varied at random by up to half. It doubles for each further retry. */
const FIRST_PAUSE_MS = 100

async function phases(asked) {
  const { phases, retries } = JSON.parse(asked)
  const lastS = phases.reduce((sum, [, seconds]) => sum + seconds, 0)
  const seconds = Array.from({ length: lastS }, (_, second) => ({
    ...{ second, offered: 0, goodput: 0, late: 0, shed: 0, shedLate: 0, otherStatus: 0, failed: 0, unsent: 0 },
    latencies: [],
  }))
  const due = phases.flatMap(([rate, length], at) => {
    const fromS = phases.slice(0, at).reduce((sum, [, before]) => sum + before, 0)
    return dueTimes(rate, Math.floor(rate * length)).map(dueMs => 1000 * fromS + dueMs)
  })
  const started = performance.now()
  const lags = []
  const send = async (dueMs, number, before = 0) => {
    const of = seconds[Math.floor(dueMs / 1000)]
    if (of === undefined) return
    of.offered++
    lags.push(performance.now() - started - dueMs)
    const error = await score(number)
    const tookMs = performance.now() - started - dueMs
    if (error === null) {
      of.latencies.push(tookMs)
      of[tookMs <= SLO_MS ? 'goodput' : 'late']++
      return
    }
    const isShed = BUSY.includes(error.code) && !/ECONN|No connection|dropped|RST_STREAM|GOAWAY/.test(error.details)
    of[isShed ? 'shed' : 'failed']++
    if (isShed && tookMs > SLO_MS) of.shedLate++
    if (before === retries) return
    await new Promise(resolve => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** before * (0.5 + Math.random())))
    await send(performance.now() - started, number, before + 1)
  }
  await openLoop(due, started, send)
  return {
    sendLagP99Ms: at(lags, 0.99),
    seconds: seconds.map(({ latencies, ...fates }) => ({
      ...fates,
      admittedP50Ms: at(latencies, 0.5),
      admittedP99Ms: at(latencies, 0.99),
    })),
  }
}

async function capacity() {
  await closedLoop(8, 1500)
  const two = await closedLoop(2, 2000)
  const eight = await closedLoop(8, 2000)
  return two > eight ? { rate: two, users: 2 } : { rate: eight, users: 8 }
}

const [what, amount, durationMs] = process.argv.slice(2)
const asked = { capacity, busy: closedLoop, offer }[what]
console.log(JSON.stringify(await (what === 'phases' ? phases(amount) : asked(Number(amount), Number(durationMs)))))
process.exit(0)
