/**
 * A real server that can serve a hundred requests a second, a client that sends six hundred, and the share of service
 * that other clients get.
 */
import http from 'node:http'
import { type GuardStats, protect, type ProtectOptions } from '../../src/index.ts'
import { nameRoute } from '../../src/request-notes.ts'
import { listen } from './harness.ts'

export interface Asked {
  readonly path?: string
  readonly headers?: http.OutgoingHttpHeaders
}

/**
 * Other clients send 33 requests a second. Returns how much of their fair share they get from 1.5 s after the start on;
 * 1 is all of it. Their fair share is all of their requests or, if that is less, as on a busy machine, half of what the
 * server serves.
 */
export async function servedBeside(
  flood: (n: number) => Asked,
  others: (n: number) => Asked,
  options: ProtectOptions,
  service: Service = {},
): Promise<number> {
  return (await flooded(flood, others, options, service)).share
}

export interface Service {
  readonly route?: (path: string) => string | undefined
  /** The flood begins after this time, ms. */
  readonly calmMs?: number
  /** How long a request holds one of two permits, ms. @default 20 */
  readonly holdsMs?: (request: http.IncomingMessage) => number
}

export interface Flooded {
  /** The result of {@link servedBeside}. */
  readonly share: number
  /** The status of every request; 0 without a response. */
  readonly statuses: readonly number[]
  readonly stats: GuardStats
}

export async function flooded(
  flood: (n: number) => Asked,
  others: (n: number) => Asked,
  options: ProtectOptions,
  { route, calmMs = 0, holdsMs = () => 20 }: Service = {},
): Promise<Flooded> {
  const server = http.createServer((request, response) => {
    const name = route?.(request.url!)
    if (name !== undefined) nameRoute(request, name)
    setTimeout(() => response.end(), holdsMs(request))
  })
  const guard = protect(server, { lanes: 1, limit: 2, ...options })
  const { port } = await listen(server)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 300 })
  const ask = ({ path = '/', headers = {} }: Asked): Promise<number> =>
    new Promise(resolve => {
      const request = http.get({ port, agent, path, headers })
      request.on('response', response => response.resume().on('end', () => resolve(response.statusCode!)))
      request.on('error', () => resolve(0))
    })
  const all: Promise<number>[] = []
  const statuses: Promise<number>[] = []
  const ofFlood: Promise<number>[] = []
  let sent = 0
  for (let tick = 0; tick < 300; tick++) {
    for (let i = 0; i < 6 && tick * 10 >= calmMs; i++) {
      const status = ask(flood(sent++))
      all.push(status)
      if (tick >= 150) ofFlood.push(status)
    }
    if (tick % 3 === 0) {
      const status = ask(others(tick))
      all.push(status)
      if (tick >= 150) statuses.push(status)
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  const served = async (asked: Promise<number>[]): Promise<number> =>
    (await Promise.all(asked)).filter(status => status === 200).length
  const [theirs, flooding] = [await served(statuses), await served(ofFlood)]
  const share = theirs / Math.min(statuses.length, (theirs + flooding) / 2)
  const answers = { share, statuses: await Promise.all(all), stats: guard.stats() }
  agent.destroy()
  return answers
}
