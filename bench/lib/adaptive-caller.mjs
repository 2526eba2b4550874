/**
 * Calls a dependency in an open loop, each call with a timeout of 1 s: `node adaptive-caller.mjs ARM URL PLAN`. The
 * plan is a list of `[seconds, calls per second]`. Prints the arrival times of the good answers, ms from the start, as
 * JSON.
 */
import { performance } from 'node:perf_hooks'
import CircuitBreaker from 'opossum'
import { install } from 'meltproof/outbound'

const [arm, url, plan] = process.argv.slice(2)
const fetchText = () => fetch(url, { signal: AbortSignal.timeout(1000) }).then(answer => answer.text())
// The defaults of opossum, except for the timeout, and for a reset after 1 s instead of 30.
const breaker = new CircuitBreaker(fetchText, { timeout: 1000, resetTimeout: 1000 })
const CALLS = {
  bare: fetchText,
  adaptive: () => fetch(url).then(answer => answer.text()),
  opossum: () => breaker.fire(),
}
if (arm === 'adaptive') install({ adaptive: true, totalMs: 1000 })

const due = []
let fromMs = 0
for (const [seconds, perSecond] of JSON.parse(plan)) {
  for (let i = 0; i < seconds * perSecond; i++) due.push(fromMs + (i * 1000) / perSecond)
  fromMs += seconds * 1000
}
const good = []
let open = 0
let sent = 0
const beganAt = performance.now()
const timer = setInterval(() => {
  const nowMs = performance.now() - beganAt
  while (sent < due.length && due[sent] <= nowMs) {
    const dueMs = due[sent++]
    open++
    CALLS[arm]()
      .then(
        () => {
          const atMs = performance.now() - beganAt
          if (atMs - dueMs <= 1000) good.push(Math.round(atMs))
        },
        () => undefined,
      )
      .finally(() => {
        if (--open === 0 && sent === due.length) end()
      })
  }
}, 2)

function end() {
  clearInterval(timer)
  process.stdout.write(JSON.stringify(good), () => process.exit())
}
