/**
 * Stalls on request: GET /plant/FORM?ms=N holds the loop for about N ms, in one of the forms below. The lines that hold
 * it end in `planted: FORM`. More calls follow each of them, so that a stack that is captured too late shows another
 * line. Lines that end in `prepares` may also hold the loop: at the start, and before a stall. GET /report has each
 * stall and the records of meltproof, /usage the CPU and memory of this process.
 */
import { pbkdf2Sync } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'

const require = createRequire(import.meta.url)
const [typedFile, addonFile] = process.argv.slice(2)
const { typed } = await import(typedFile)
const addon = addonFile === '' ? undefined : require(addonFile)
const lateFile = join(import.meta.dirname, 'late.cjs')

/** Uses results, because otherwise the optimiser would remove the work that makes them. */
const kept = [undefined]
function used(value) {
  kept[0] = value
}

const bigFile = join(tmpdir(), `planted-${process.pid}`)
writeFileSync(bigFile, 'é'.repeat(2_000_000)) // prepares
process.on('disconnect', () => process.exit())
process.on('exit', () => require('node:fs').rmSync(bigFile, { force: true }))

/** The amount of each kind of work that takes a millisecond on this machine. */
const perMs = {}
function calibrate(name, amount, act) {
  act(amount) // prepares
  const from = performance.now()
  act(amount) // prepares
  perMs[name] = amount / (performance.now() - from)
}
/** JSON of more items would be longer than the longest string of V8. */
const MOST_ITEMS = 2_000_000
const item = i => ({ id: i, name: `item ${i}`, tags: ['a', 'b'], price: i / 7 }) // prepares
const itemsOf = count => Array.from({ length: count }, (_, i) => item(i)) // prepares
const textOf = count => JSON.stringify(itemsOf(count)) // prepares
const noise = Buffer.from(Array.from({ length: 2_000_000 }, () => Math.floor(Math.random() * 64))) // prepares
const noiseOf = bytes => Buffer.concat(Array.from({ length: Math.ceil(bytes / noise.length) }, () => noise)) // prepares
const sample = textOf(100_000) // prepares
calibrate('parse', 100_000, () => used(JSON.parse(sample))) // prepares
const items = itemsOf(100_000) // prepares
calibrate('stringify', 100_000, () => used(JSON.stringify(items))) // prepares
calibrate('pbkdf2', 100_000, amount => used(pbkdf2Sync('a', 'b', amount, 32, 'sha512'))) // prepares
calibrate('gzip', 2_000_000, () => used(gzipSync(noise))) // prepares

const template = new Function(
  'rows',
  'untilMs',
  `let text = ''
   while (performance.now() < untilMs) for (const row of rows) text = '<li>' + row.name + '</li>' + text.slice(0, 1000)
   return text`,
)

const rested = new Worker('setInterval(() => {}, 1000)', { eval: true })
rested.unref()

/** Each form prepares its stall, and returns a function that stalls. */
const forms = {
  regex: ms => {
    const text = 'a'.repeat(2000)
    const until = performance.now() + ms
    return () => {
      let found = 0
      while (performance.now() < until) found += /^(?:.*){3}=$/.test(text.slice(0, 300)) ? 1 : 0 // planted: regex
      used(found)
    }
  },
  jsonParse: ms => {
    const text = textOf(Math.ceil(perMs.parse * ms)) // prepares
    return () => {
      const parsed = JSON.parse(text) // planted: jsonParse
      used(parsed)
      used(parsed.length)
    }
  },
  jsonStringify: ms => {
    const amount = perMs.stringify * ms
    const calls = Math.ceil(amount / MOST_ITEMS)
    const many = itemsOf(Math.ceil(amount / calls)) // prepares
    return () => {
      let text = ''
      for (let i = 0; i < calls; i++) text = JSON.stringify(many) // planted: jsonStringify
      used(text)
      used(text.length)
    }
  },
  crypto: ms => () => {
    const key = pbkdf2Sync('secret', 'salt', Math.ceil(perMs.pbkdf2 * ms), 32, 'sha512') // planted: crypto
    used(key)
    used(key.length)
  },
  zlib: ms => {
    const bytes = noiseOf(perMs.gzip * ms) // prepares
    return () => {
      const small = gzipSync(bytes) // planted: zlib
      used(small)
      used(small.length)
    }
  },
  fs: ms => {
    const until = performance.now() + ms
    return () => {
      let read = 0
      while (performance.now() < until) read += readFileSync(bigFile, 'utf8').length // planted: fs
      used(read)
    }
  },
  loop: ms => {
    const until = performance.now() + ms
    return () => {
      let sum = 0
      for (let i = 0; i % 1000 !== 0 || performance.now() < until; i++) sum += Math.sqrt(i) // planted: loop
      used(sum)
    }
  },
  template: ms => {
    const until = performance.now() + ms
    const rows = itemsOf(1000) // prepares
    return () => {
      const page = template(rows, until) // planted: template
      used(page)
      used(page.length)
    }
  },
  addon:
    addon &&
    (ms => () => {
      const slept = addon.hold(ms) // planted: addon
      used(slept)
      used(slept + 1)
    }),
  afterAwait: ms => async () => {
    await new Promise(resolve => setTimeout(resolve, 5))
    const until = performance.now() + ms
    let sum = 0
    while (performance.now() < until) sum += 1 // planted: afterAwait
    used(sum)
  },
  timer: ms => () =>
    new Promise(resolve => {
      setTimeout(() => {
        const until = performance.now() + ms
        let sum = 0
        while (performance.now() < until) sum += 1 // planted: timer
        used(sum)
        resolve()
      }, 3)
    }),
  promise: ms => () =>
    Promise.resolve(ms).then(left => {
      const until = performance.now() + left
      let sum = 0
      while (performance.now() < until) sum += 1 // planted: promise
      used(sum)
    }),
  workerOwner: ms => () => {
    const flag = new Int32Array(new SharedArrayBuffer(4))
    const why = Atomics.wait(flag, 0, 0, ms) // planted: workerOwner
    used(why)
    used(why.length)
  },
  typescript: ms => () => used(typed(ms)),
  lateModule: ms => () => {
    globalThis.plantedMs = ms
    delete require.cache[lateFile]
    used(require(lateFile))
  },
}

/** The lines of each form, by file; and the lines of this file that prepare. */
const truth = {}
const prepares = { file: import.meta.filename, lines: [] }
for (const file of [import.meta.filename, lateFile, join(import.meta.dirname, 'typed.ts')]) {
  for (const [i, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const form = /[/][/] planted: (\w+)$/.exec(line)?.[1]
    if (form !== undefined) truth[form] = { file, line: i + 1 }
    else if (line.endsWith('// prepares')) prepares.lines.push(i + 1)
  }
}

const stalls = []
const culprits = []
/** Times in which preparing lines ran. */
const others = []
function preparing(act) {
  const fromMs = performance.now()
  const made = act()
  others.push({ fromMs, toMs: performance.now() })
  return made
}
subscribe('meltproof:culprit', record => culprits.push(record))

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  const form = pathname.split('/')[2]
  if (pathname === '/report')
    response.end(
      JSON.stringify({ stalls, culprits, others, prepares, forms: Object.keys(forms).filter(name => forms[name]) }),
    )
  else if (pathname === '/usage') response.end(JSON.stringify(usage()))
  else if (forms[form] === undefined) response.end('ok')
  else {
    const ms = Number(searchParams.get('ms'))
    const act = preparing(() => forms[form](ms))
    // Separates the preparation from the stall.
    await new Promise(resolve => setTimeout(resolve, 100))
    const hold = form === 'regex' || form === 'fs' || form === 'loop' || form === 'template' ? forms[form](ms) : act
    const fromMs = performance.now()
    await hold()
    stalls.push({ form, fromMs, toMs: performance.now(), route: `GET ${pathname}`, ...truth[form] })
    used(undefined)
    response.end('held')
  }
})
// A client that waited through a stall must not find its connection closed.
server.keepAliveTimeout = 600_000
others.push({ fromMs: 0, toMs: performance.now() })
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

function usage() {
  const { user, system } = process.cpuUsage()
  const pss = /Private_Dirty:\s+(\d+)/.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))
  return { cpuMs: (user + system) / 1000, rss: process.memoryUsage.rss() / 1048576, privateMb: Number(pss[1]) / 1024 }
}
