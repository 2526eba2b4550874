/** Connects the parts: routes, store, live view. It does not listen itself; main.ts and the tests do. */
import { fileURLToPath } from 'node:url'
import express from 'express'
import { connect } from './database/connect.ts'
import { accessLine } from './http/access-line.ts'
import { historyRoutes } from './http/history-routes.ts'
import { joinRoutes, joinUrl } from './http/join-routes.ts'
import { liveRoute } from './http/live-route.ts'
import { positionsRoute } from './http/positions-route.ts'
import { notFound, onError } from './http/problem.ts'
import { securityHeaders } from './http/security-headers.ts'
import { maySimulate, simulatedRoutes } from './http/simulated-routes.ts'
import { mayStorm, stormRoute } from './http/storm-route.ts'
import { Shore } from './live/shore.ts'
import { Viewers } from './live/viewers.ts'
import { startCleanUp } from './positions/clean-up.ts'
import { Store } from './positions/store.ts'
import { SimulatedWalkers } from './simulated/simulated-walkers.ts'
import type { Storm } from './storm.ts'

export interface TideOptions {
  readonly databaseUrl: string
  readonly log?: 'off' | 'console'
  readonly keepDays?: number
  /** Number of proxies in front that add to X-Forwarded-For. With 0, the peer of the connection is the client. */
  readonly proxies?: number
  /** Address for phones of the same network; undefined if the service listens on this computer only. */
  readonly lan?: string | undefined
  /** The storm that `/` shows to a browser on this computer. */
  readonly storm?: Storm
}

export interface Tide {
  readonly app: express.Express
  /** Disconnects the live pages, which reconnect by themselves, to the process that listens then. */
  endLiveStreams(): void
  close(): Promise<void>
}

/** Interval of the messages to viewers, ms. Walkers send at the same interval. */
const TICK_MS = 1000

const PUBLIC = fileURLToPath(new URL('../public', import.meta.url))

export function createTide({ databaseUrl, log = 'off', keepDays = 30, proxies = 0, lan, storm }: TideOptions): Tide {
  const database = connect(databaseUrl)
  const shore = new Shore()
  const viewers = new Viewers(() => shore.snapshot(Date.now()))
  const store = new Store(database.writer)
  const simulated = new SimulatedWalkers(store, shore)
  const endCleanUp = startCleanUp(database.reader, store, keepDays)
  // After a restart, the shore shows the last known positions until the phones send again.
  void database.ready.then(async () => shore.restore(await store.latest(), Date.now())).catch(() => {})
  const tick = setInterval(() => viewers.send(shore.tick(Date.now()), Date.now()), TICK_MS)
  tick.unref()

  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', proxies)
  app.disable('etag') // API answers change every time; static files keep their ETags
  if (log === 'console') app.use(accessLine)
  app.use(securityHeaders)
  app.use('/api', (_request, response, next) => {
    response.set('cache-control', 'no-store')
    next()
  })
  app.use(positionsRoute(store, shore))
  app.use(historyRoutes(database.reader))
  app.use(liveRoute(viewers))
  app.use(joinRoutes(lan))
  app.use(simulatedRoutes(simulated, shore))
  if (storm !== undefined) app.use(stormRoute(storm))
  app.get('/api/health', (_request, response) => {
    response.status(database.up() ? 200 : 503).json({ database: database.up() ? 'up' : 'down' })
  })
  // Values that the pages show. They depend on this service and on the client.
  app.get('/api/about', (request, response) => {
    const [join, hasStorm] = [joinUrl(request, lan) ?? null, storm !== undefined && mayStorm(request)]
    response.json({ keepDays, join, maySimulate: maySimulate(request), hasStorm })
  })
  app.use(express.static(PUBLIC, { extensions: ['html'], index: 'walk.html' }))
  app.use(notFound)
  app.use(onError)

  return {
    app,
    endLiveStreams: () => viewers.close(),
    async close() {
      clearInterval(tick)
      endCleanUp()
      viewers.close()
      await Promise.all([storm?.end(), simulated.stop().catch(() => {})])
      await database.close()
    },
  }
}
