/**
 * Dependencies that refuse excess calls: `node refusing-dependency.mjs CASE`, with the cases of refusing.ts. Their
 * processor is simulated, so that their capacity does not depend on the machine: jobs run one after the other, and
 * refusals go first. A refusal costs a tenth of an answer unless the case says otherwise.
 */
import http from 'node:http'
import { performance } from 'node:perf_hooks'

/** One core: answers wait for each other, and a refusal delays all of them. */
class Processor {
  #jobs = []
  #owedMs = 0
  #atMs = performance.now()
  #timer

  get waiting() {
    return this.#jobs.length
  }

  work(ms, done) {
    this.#pass()
    this.#jobs.push({ leftMs: ms, done })
    this.#next()
  }

  first(ms, done) {
    this.#pass()
    this.#owedMs += ms
    setTimeout(done, this.#owedMs)
    this.#next()
  }

  #pass() {
    const nowMs = performance.now()
    let ms = nowMs - this.#atMs
    this.#atMs = nowMs
    const owedMs = Math.min(ms, this.#owedMs)
    this.#owedMs -= owedMs
    ms -= owedMs
    while (this.#jobs.length > 0 && ms >= this.#jobs[0].leftMs) {
      const { leftMs, done } = this.#jobs.shift()
      ms -= leftMs
      done()
    }
    if (this.#jobs.length > 0) this.#jobs[0].leftMs -= ms
  }

  #next() {
    clearTimeout(this.#timer)
    if (this.#jobs.length === 0) return
    this.#timer = setTimeout(
      () => {
        this.#pass()
        this.#next()
      },
      Math.max(1, this.#owedMs + this.#jobs[0].leftMs),
    )
  }
}

const processor = new Processor()
const beganAt = performance.now()
const seconds = () => (performance.now() - beganAt) / 1000

/** Refuses while `most` calls are present. */
const full =
  (workMs, most, refuseMs = workMs / 10, slowMs = 0) =>
  (_path, ok, refuse) => {
    if (processor.waiting < most) processor.work(workMs, ok)
    else processor.first(refuseMs, () => setTimeout(() => refuse(503), slowMs))
  }
const usual = full(20, 8)

let tokens = 5
let filledAt = 0
let inSecond = 0
let second = -1
const CASES = {
  overload: usual,
  'slow refusals': full(20, 8, 2, 1000),
  'no queue': full(20, 1),
  'comes back': (path, ok, refuse) => (seconds() < 6 ? processor.first(2, () => refuse(503)) : usual(path, ok, refuse)),
  'one route': (path, ok, refuse) =>
    path.startsWith('/quota') ? processor.first(2, () => refuse(429)) : usual(path, ok, refuse),
  'rate quota': (_path, ok, refuse) => {
    tokens = Math.min(5, tokens + (seconds() - filledAt) * 50)
    filledAt = seconds()
    if (tokens < 1) return void refuse(429)
    tokens--
    setTimeout(ok, 2)
  },
  'by chance': (_path, ok, refuse) => (Math.random() < 0.5 ? setTimeout(ok, 50) : void refuse(503)),
  // Held out: written before anything was tuned.
  'quota of a second': (_path, ok, refuse) => {
    const now = Math.floor(seconds())
    inSecond = now === second ? inSecond + 1 : 1
    second = now
    if (inSecond > 50) refuse(429)
    else setTimeout(ok, 5)
  },
  grows: (path, ok, refuse) => full(40 / 2 ** Math.min(4, Math.floor(seconds() / 2)), 8)(path, ok, refuse),
  'uneven work': (_path, ok, refuse) => {
    if (processor.waiting < 6) processor.work(-20 * Math.log(1 - Math.random()), ok)
    else processor.first(2, () => refuse(503))
  },
  'many routes': usual,
  flapping: (path, ok, refuse) =>
    seconds() % 2 < 0.7 ? processor.first(2, () => refuse(503)) : usual(path, ok, refuse),
  'one of three instances': (path, ok, refuse) => (Math.random() < 1 / 3 ? void refuse(503) : usual(path, ok, refuse)),
  bursts: usual,
}
const decide = CASES[process.argv[2]]
const server = http.createServer((request, response) => {
  const answer = status => {
    response.statusCode = status
    response.end('answer')
  }
  decide(request.url, () => answer(200), answer)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
