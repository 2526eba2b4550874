/** GET /FORM blocks the loop. The response has the records of its stalls and the warnings. */
import { subscribe } from 'node:diagnostics_channel'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import inspector, { Session } from 'node:inspector'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const HOLD_MS = 600
const records = []
const warnings = []
subscribe('meltproof:culprit', record => records.push(record))
process.on('warning', warning => warnings.push(warning.message))

// The app's own inspector session, which profiles the app.
const own = new Session()
if (process.env.OWN_SESSION === 'on') {
  own.connect()
  own.post('Profiler.enable')
  own.post('Profiler.start')
}

const require = createRequire(import.meta.url)
const LATE = import.meta.resolve('./late.cjs')
const { typed } = process.env.TYPED ? await import(process.env.TYPED) : {}
// Other forms do not need this text, and creating it takes half as long as the rest of the start.
const items = process.env.FORM === 'json' ? 500_000 : 0
const text = JSON.stringify(Array.from({ length: items }, (_, i) => ({ i, name: `item ${i}` })))
const bytes = Buffer.alloc(16_000_000)
const scratch = join(tmpdir(), `meltproof-stalls-${process.pid}`)
process.on('exit', () => rmSync(scratch, { force: true }))
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
/** Makes collections slow. */
const live = process.env.FORM === 'garbage' ? Array.from({ length: 3_000_000 }, (_, i) => ({ i })) : []
function used() {}

const early = []
const forms = {
  loop() {
    void Promise.resolve().then(() => early.push('promise'))
    process.nextTick(() => early.push('tick'))
    const until = performance.now() + HOLD_MS
    while (performance.now() < until) used() // line: loop
    early.push('end')
    // biome-ignore lint/suspicious/noDebugger: it must not stop
    debugger
  },
  regex() {
    const until = performance.now() + HOLD_MS
    while (performance.now() < until) /^(?:.*){3}=$/.test('a'.repeat(300)) // line: regex
  },
  json() {
    const until = performance.now() + HOLD_MS
    while (performance.now() < until) used(JSON.parse(text)) // line: json
  },
  async later() {
    await new Promise(resolve => setTimeout(resolve, 5))
    const until = performance.now() + HOLD_MS
    while (performance.now() < until) used() // line: later
  },
  write() {
    const until = performance.now() + HOLD_MS
    while (performance.now() < until) writeFileSync(scratch, bytes) // line: write
  },
  garbage() {
    const until = performance.now() + HOLD_MS
    for (; performance.now() < until; used(live)) collect() // line: garbage
  },
  typed: () => typed(HOLD_MS),
  late() {
    delete require.cache[require.resolve('./late.cjs')]
    require('./late.cjs')
  },
  imported: () => import(`${LATE.replace('.cjs', '.mjs')}?${Math.random()}`),
  forever() {
    for (;;) used() // line: forever
  },
  profile: () =>
    new Promise((resolve, reject) =>
      own.post('Profiler.stop', (error, answer) => (error ? reject(error) : resolve(answer.profile))),
    ),
  open: () => inspector.open(0, '127.0.0.1'),
  close: () => inspector.close(),
}

const server = createServer(async (request, response) => {
  records.length = 0
  early.length = 0
  const profile = await forms[request.url.slice(1)]?.()
  // The stall is judged at the next heartbeat.
  setTimeout(() => {
    const sampled = profile?.nodes?.filter(({ hitCount }) => hitCount > 0).map(node => node.callFrame.functionName)
    response.end(JSON.stringify({ records, warnings, early, sampled, inspectorUrl: inspector.url() }))
  }, 100)
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  own.disconnect()
})
