/** GET /FORM holds the loop; answers with what the process says of it: the last record of a stall, and its warnings. */
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector'

const HOLD_MS = 600
const records = []
const warnings = []
subscribe('meltproof:culprit', record => records.push(record))
process.on('warning', warning => warnings.push(warning.message))

// One that the app uses itself, with everything on.
const own = new Session()
if (process.env.OWN_SESSION === 'on') {
  own.connect()
  own.post('Profiler.enable')
  own.post('Profiler.start')
}

const text = JSON.stringify(Array.from({ length: 500_000 }, (_, i) => ({ i, name: `item ${i}` })))
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
}
const lines = readFileSync(import.meta.filename, 'utf8').split('\n')

const server = createServer(async (request, response) => {
  const form = request.url.slice(1)
  records.length = 0
  early.length = 0
  await forms[form]?.()
  // The stall is judged at the next beat.
  setTimeout(() => {
    const line = lines.findIndex(each => each.endsWith(`// line: ${form}`)) + 1
    response.end(JSON.stringify({ line, records, warnings, early }))
  }, 100)
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  own.disconnect()
})
