/**
 * The operator's pages, on a separate port: scrapes do not compete with the service's requests, and the service's
 * clients cannot see the pages. The port does not keep the process alive; if it is taken, the app runs without these
 * pages. One worker of a cluster serves the pages for all.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AllGuards } from '../cluster/all-guards.ts'
import type { Address } from '../cluster/held-port.ts'
import { measuredFamilies } from '../observe/measured-families.ts'
import { checkObserveOptions } from '../observe/options.ts'
import { answerScrape } from '../observe/scrape.ts'
import type { Guard, GuardStats } from '../server/guard.ts'
import { answerReadiness } from '../server/operate/readiness.ts'
import { clusterPort } from '../cluster/cluster-port.ts'
import type { Together } from '../cluster/workers.ts'
import { pageServer, send } from './page-server.ts'

type Page = (pageData: Together & { stats: GuardStats }, response: ServerResponse) => void

/** Probes come every second, and must not collect the metrics of all workers. */
const PROBES: ReadonlySet<string> = new Set(['/startup', '/ready'])
const NO_FIGURES = { explain: [], families: [] }

const PAGES: Readonly<Record<string, Page>> = {
  '/startup': (_, response) => send(response, 'text/plain', 'A server of this app is listening.\n'),
  '/ready': ({ ready, stats }, response) => answerReadiness({ ...stats, draining: !ready }, response.req, response),
  '/metrics': ({ families }, response) => answerScrape(families, response.req, response),
  '/stats': ({ stats }, response) => send(response, 'application/json', JSON.stringify(stats)),
  '/explain': ({ explain }, response) => send(response, 'text/plain', explain.map(line => `${line}\n`).join('')),
}

/** @param guards the guards of the servers that listen now */
export function serveAdmin(address: Address, guards: () => readonly Guard[], warn: (text: string) => void): void {
  const all = new AllGuards(guards)
  const { families } = measuredFamilies(all, checkObserveOptions('the admin port', all, {}))
  const server = pageServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path] = request.url!.split('?') as [string]
    // `/live` does not depend on other workers, on load or on a drain: any answer shows that the process lives.
    if (path === '/live') return send(response, 'text/plain', 'The event loop is running.\n')
    const page = PAGES[path]
    const isLight = page === undefined || PROBES.has(path)
    const { stats, ...pageData } = isLight ? { ...NO_FIGURES, ...(await workers.status()) } : await workers.together()
    if (stats === undefined) send(response, 'text/plain', 'No server of this app is listening yet.\n', 503)
    else if (page !== undefined) page({ ...pageData, stats }, response)
    else send(response, 'text/plain', `${['/live', ...Object.keys(PAGES)].join('\n')}\n`, 404)
  }
  const workers = clusterPort({
    name: `${address.host} ${address.port}`,
    server,
    address,
    warn,
    warnings: { unreachable: 'serves the figures of this worker only on its admin port', none: 'has no admin port' },
    all,
    families,
    explain: () => guards().map(guard => guard.explain()),
    ready: () => guards().length > 0 && !all.stats().draining,
  })
  // Sends the counters to the other workers, in case this process ends.
  server.on('listening', () => workers.together().catch(() => undefined))
  server.unref()
}
