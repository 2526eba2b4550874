/**
 * Calls a dependency in an open loop, each call with a timeout of 1 s: `node refusing-caller.mjs ARM URL PLAN PATHS`.
 * ARM is `bare`, `adaptive` or a number for `maxInFlight`. PLAN is a list of `[seconds, calls per second]`, PATHS a
 * list to choose from at random, with `*` for an id. Prints the arrival time and the path of each good answer (200,
 * within 1 s), as JSON.
 */
import { performance } from 'node:perf_hooks'
import { install } from 'meltproof/outbound'

const [arm, url, plan, paths] = process.argv.slice(2)
if (arm === 'adaptive') install({ adaptive: true, totalMs: 1000 })
else if (arm !== 'bare') install({ maxInFlight: Number(arm), totalMs: 1000 })
const options = () => (arm === 'bare' ? { signal: AbortSignal.timeout(1000) } : {})

const due = []
let fromMs = 0
for (const [seconds, perSecond] of JSON.parse(plan)) {
  for (let i = 0; i < seconds * perSecond; i++) due.push(fromMs + ((i + Math.random()) * 1000) / perSecond)
  fromMs += seconds * 1000
}
due.sort((a, b) => a - b)
const choices = JSON.parse(paths)
const good = []
let open = 0
let sent = 0
const beganAt = performance.now()
const timer = setInterval(() => {
  while (sent < due.length && due[sent] <= performance.now() - beganAt) void call(due[sent++])
}, 2)

async function call(dueMs) {
  open++
  const path = choices[Math.floor(Math.random() * choices.length)]
  try {
    const answer = await fetch(url + path.replace('*', Math.floor(Math.random() * 1e6)), options())
    await answer.text()
    const atMs = performance.now() - beganAt
    if (answer.status === 200 && atMs - dueMs <= 1000) good.push([Math.round(atMs), path])
  } catch {
    // The call was refused, or was too late.
  }
  if (--open === 0 && sent === due.length) {
    clearInterval(timer)
    process.stdout.write(JSON.stringify(good), () => process.exit())
  }
}
