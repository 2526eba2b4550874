/**
 * How many handlers work at once, and what honest clients get, when clients lose patience, forge deadlines or send their
 * bodies slowly, and when a dependency hangs. Bare, and protected with a limit of 16 or with the limit that is learned.
 *
 *   node bench/handlers-at-work.ts [--case hang,deadline,forged,some,silent,outage,cheap,trickled,never] [--meltproof DIR] [--json]
 *
 * Bar (DESIGN.md): with a limit of 16 no more than 32 handlers at work, whatever happens. In an outage, impatient clients
 * get at least 90 % of what patient ones get, during it and after. `--meltproof` names another checkout's
 * packages/meltproof/src/index.ts, to compare with. About two minutes; loopback only, at most 500 requests a second.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { scriptOptions } from '../scripts/script-options.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import type { WorkFigures } from './lib/work-server.ts'

const CASES = {
  hang: hangs,
  deadline: deadlinePasses,
  forged: deadlinesAreForged,
  some: someHang,
  silent: endsSilently,
  outage,
  cheap: cheapBesideHeavy,
  trickled: trickledUploads,
  never: bodiesNeverCome,
}

const options = scriptOptions(import.meta.filename, {
  case: { type: 'string' },
  meltproof: { type: 'string', default: join(import.meta.dirname, '../packages/meltproof/src/index.ts') },
  json: { type: 'boolean', default: false },
})

interface Row {
  readonly case: string
  readonly limit: string
  readonly most: number
  readonly mostPerLimit: number
  readonly inflight: number
  readonly honest: string
}

class Server {
  readonly #child: ChildProcess
  readonly port: number

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async start(kind: string, how: object | 'bare'): Promise<Server> {
    const json = how === 'bare' ? how : JSON.stringify({ lanes: 1, ...how })
    const args = [kind, json, resolve(options.values.meltproof)]
    const child = fork(join(import.meta.dirname, 'lib/work-server.ts'), args, { execArgv: ['--no-warnings'] })
    const [{ port }] = (await once(child, 'message')) as [{ port: number }]
    return new Server(child, port)
  }

  async tell(what: 'figures' | 'hang' | 'go on'): Promise<WorkFigures> {
    this.#child.send(what)
    const [figures] = (await once(this.#child, 'message')) as [WorkFigures]
    return figures
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }
}

interface Ask {
  readonly path?: string
  readonly patienceMs: number
  readonly headers?: Record<string, string>
}

/** The status; 0 when the client left before, or the connection was lost. */
function ask(port: number, { path = '/', patienceMs, headers = {} }: Ask): Promise<number> {
  return new Promise(done => {
    const request = http.get({ port, path, headers, agent: false }, response => {
      response.resume().on('end', () => done(response.statusCode!))
    })
    request.on('error', () => done(0))
    const leave = setTimeout(() => request.destroy(), patienceMs)
    request.on('close', () => {
      clearTimeout(leave)
      done(0)
    })
  })
}

interface Answer {
  /** When it was asked, ms from the start. */
  readonly atMs: number
  readonly status: number
}

/** So many a second, evenly, whatever the server does. */
async function offer(port: number, rate: number, seconds: number, each: Ask): Promise<Answer[]> {
  const startMs = performance.now()
  const asked: Promise<Answer>[] = []
  for (let i = 0; i < rate * seconds; i++) {
    const atMs = (i * 1000) / rate
    const early = startMs + atMs - performance.now()
    if (early > 0) await sleep(early)
    asked.push(ask(port, each).then(status => ({ atMs, status })))
  }
  return Promise.all(asked)
}

const good = (answers: readonly Answer[]): number => answers.filter(({ status }) => status === 200).length
const percent = (part: number, of: number): string => `${((100 * part) / of).toFixed(0)} %`
const LIMITS: readonly (readonly [string, object | 'bare'])[] = [
  ['bare', 'bare'],
  ['16', { limit: 16 }],
  ['learned', {}],
]

async function withServer(
  name: string,
  kind: string,
  limit: string,
  how: object | 'bare',
  use: (server: Server) => Promise<string>,
): Promise<Row> {
  const server = await Server.start(kind, how)
  try {
    const honest = await use(server)
    const { most, mostPerLimit, inflight } = await server.tell('figures')
    return { case: name, limit, most, mostPerLimit, inflight, honest }
  } finally {
    server.stop()
  }
}

async function* hangs(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS) {
    yield withServer('clients leave after 500 ms, the dependency hangs', 'unbounded', limit, how, async server => {
      await server.tell('hang')
      await offer(server.port, 167, 8, { patienceMs: 500 })
      return '-'
    })
  }
}

async function* deadlinePasses(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS.slice(1)) {
    const deadline = { deadlineMs: 300, ...(how as object) }
    yield withServer('a deadline of 300 ms, the dependency hangs', 'unbounded', limit, deadline, async server => {
      await server.tell('hang')
      await offer(server.port, 167, 8, { patienceMs: 3000 })
      return '-'
    })
  }
}

async function* deadlinesAreForged(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS.slice(1)) {
    const deadline = { deadlineMs: 3000, ...(how as object) }
    yield withServer('150/s that ask for 1 ms beside 50/s, a pool of ten', 'pool', limit, deadline, async server => {
      const [honest] = await Promise.all([
        offer(server.port, 50, 8, { patienceMs: 3000, path: '/honest' }),
        offer(server.port, 150, 8, { patienceMs: 3000, headers: { 'x-envoy-expected-rq-timeout-ms': '1' } }),
      ])
      return `${percent(good(honest), honest.length)} answered`
    })
  }
}

/** Of quick requests one in 57 hangs for 6 s. */
async function* someHang(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS) {
    const deadline = how === 'bare' ? how : { ...(how as object), deadlineMs: 500 }
    const hurried = { 'x-envoy-expected-rq-timeout-ms': '1' }
    const arms: [string, object | 'bare', Ask][] = [
      ['clients stay', how, { patienceMs: 20_000 }],
      ['clients leave after 500 ms', how, { patienceMs: 500 }],
      ['a deadline of 500 ms', deadline, { patienceMs: 20_000 }],
      ['callers that ask for 1 ms', deadline, { patienceMs: 20_000, headers: hurried }],
    ]
    for (const [who, options, asked] of how === 'bare' ? arms.slice(0, 1) : arms) {
      yield withServer(`one in 57 hangs for 6 s, ${who}`, 'some-hang', limit, options, async server => {
        const answers = await offer(server.port, 400, 12, asked)
        return `${percent(good(answers), answers.length)} answered`
      })
    }
  }
}

/** One client in ten leaves at once, of a server that does not tell when it has ended the work of such. */
async function* endsSilently(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS) {
    yield withServer(
      'a tenth of the clients leaves at once, handlers end silently',
      'silent',
      limit,
      how,
      async server => {
        const [honest] = await Promise.all([
          offer(server.port, 300, 12, { patienceMs: 3000 }),
          offer(server.port, 30, 12, { patienceMs: 10 }),
        ])
        return `${percent(good(honest), honest.length)} answered`
      },
    )
  }
}

/** 160/s at a pool that serves 200/s; it answers nobody from 4 to 14 s. */
async function* outage(): AsyncGenerator<Row> {
  const [fromS, toS, seconds] = [4, 14, 26]
  for (const [limit, how] of LIMITS) {
    for (const patienceMs of [10_000, 500]) {
      const name = `an outage of 10 s, clients leave after ${patienceMs} ms`
      yield withServer(name, 'pool', limit, how, async server => {
        const answers = offer(server.port, 160, seconds, { patienceMs })
        await sleep(fromS * 1000)
        await server.tell('hang')
        await sleep((toS - fromS) * 1000)
        await server.tell('go on')
        const during = (from: number, to: number): Promise<number> =>
          answers.then(all => good(all.filter(({ atMs }) => atMs >= from * 1000 && atMs < to * 1000)))
        const after = await during(toS, seconds)
        return `${await during(fromS, toS)} during, ${percent(after, 160 * (seconds - toS))} after`
      })
    }
  }
}

async function* cheapBesideHeavy(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS.slice(0, 2)) {
    yield withServer(
      'cheap ones beside heavy ones of 2 s, whose clients leave',
      'cheap-and-heavy',
      limit,
      how,
      async server => {
        const [cheap] = await Promise.all([
          offer(server.port, 200, 8, { patienceMs: 1000, path: '/cheap' }),
          offer(server.port, 40, 8, { patienceMs: 300, path: '/heavy' }),
        ])
        return `${percent(good(cheap), cheap.length)} of the cheap ones answered`
      },
    )
  }
}

function upload(port: number): { readonly socket: net.Socket; readonly answered: Promise<boolean> } {
  const socket = net.connect(port, '127.0.0.1').on('error', () => {})
  socket.write('POST /upload HTTP/1.1\r\nHost: bench\r\nContent-Length: 2\r\n\r\n')
  const answered = new Promise<boolean>(done => {
    socket.on('data', data => done(data.toString('latin1').startsWith('HTTP/1.1 200')))
    socket.on('close', () => done(false))
  })
  return { socket, answered }
}

async function* trickledUploads(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS) {
    yield withServer('600 uploads that end at the same moment', 'upload', limit, how, async server => {
      const uploads = []
      for (let i = 0; i < 600; i++) {
        uploads.push(upload(server.port))
        if (i % 4 === 0) await sleep(10)
      }
      await sleep(300)
      for (const { socket } of uploads) socket.write('ab')
      const answered = await Promise.all(uploads.map(each => Promise.race([each.answered, sleep(4000, false)])))
      for (const { socket } of uploads) socket.destroy()
      return `${answered.filter(Boolean).length} of 600 answered with 200`
    })
  }
}

async function* bodiesNeverCome(): AsyncGenerator<Row> {
  for (const [limit, how] of LIMITS) {
    yield withServer('200/s whose body never comes beside 67/s, a pool of ten', 'upload', limit, how, async server => {
      const never: net.Socket[] = []
      const attack = setInterval(() => never.push(upload(server.port).socket), 5)
      const honest = await offer(server.port, 67, 8, { patienceMs: 1000 })
      clearInterval(attack)
      for (const socket of never) socket.destroy()
      return `${percent(good(honest), honest.length)} answered`
    })
  }
}

const rows: Row[] = []
for (const name of options.chosen('case', Object.keys(CASES) as (keyof typeof CASES)[])) {
  for await (const row of CASES[name]()) {
    rows.push(row)
    if (!options.values.json) console.log(`${row.case}, limit ${row.limit}: ${row.most} at work; ${row.honest}`)
  }
}
if (options.values.json) console.log(JSON.stringify(rows, null, 1))
else {
  const header = [
    'case',
    'limit',
    'most handlers at work',
    'times the limit',
    'in service at the end',
    'honest clients',
  ]
  console.log(
    `\n${markdownTable(
      header,
      rows.map(row => [
        row.case,
        row.limit,
        String(row.most),
        row.limit === 'bare' ? '-' : row.mostPerLimit.toFixed(1),
        String(row.inflight),
        row.honest,
      ]),
    )}`,
  )
}
process.exit()
