/** A real Prometheus reads our OpenMetrics and keeps its exemplars. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { protect } from '../../packages/meltproof/src/index.ts'
import { metrics } from '../../packages/meltproof/src/observe/prometheus.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const missing = spawnSync('prometheus', ['--version']).error !== undefined
if (missing && process.env['CI'] !== undefined) throw new Error('prometheus is missing: apt-get install prometheus')

async function portOf(server: net.Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test('a real Prometheus finds the exemplar of a request', {
  ...(missing ? { skip: 'prometheus is not installed: apt-get install prometheus' } : {}),
  timeout: 120_000,
}, async context => {
  const server = http.createServer((_, response) => response.end())
  const handler = metrics(protect(server))
  const scraped = http.createServer(handler)
  const [port, scrapePort] = [await portOf(server), await portOf(scraped)]
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-exemplars-'))
  const free = net.createServer()
  const prometheusPort = await portOf(free)
  free.close()
  writeFileSync(
    join(folder, 'prometheus.yml'),
    `global: { scrape_interval: 500ms, scrape_timeout: 450ms }
scrape_configs: [{ job_name: service, static_configs: [{ targets: ['127.0.0.1:${scrapePort}'] }] }]
`,
  )
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${prometheusPort}`,
      '--enable-feature=exemplar-storage',
    ],
    { stdio: 'ignore' },
  )
  context.after(() => {
    prometheus.kill('SIGKILL')
    handler.close()
    for (const each of [server, scraped]) each.close().closeAllConnections()
    rmSync(folder, { recursive: true, force: true })
  })
  const asked = async <T>(path: string): Promise<T | undefined> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${prometheusPort}/api/v1/${path}`)
      return ((await answer.json()) as { data: T }).data
    } catch {
      return undefined
    }
  }
  const headers = { traceparent: `00-${TRACE}-b7ad6b7169203331-01` }
  const query = 'query_exemplars?query=http_server_request_duration_seconds_bucket&start=0&end=9999999999'
  type Found = readonly { readonly exemplars: readonly { readonly labels: { readonly trace_id: string } }[] }[]
  let found: Found | undefined
  while (found === undefined || found.length === 0) {
    await fetch(`http://127.0.0.1:${port}/`, { headers }).then(answer => answer.text())
    await new Promise(resolve => setTimeout(resolve, 200))
    found = await asked<Found>(query)
    const targets = await asked<{ activeTargets: { lastError: string }[] }>('targets')
    assert.equal(targets?.activeTargets[0]?.lastError ?? '', '', 'Prometheus reads all of it')
  }
  assert.deepEqual(
    new Set(found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id))),
    new Set([TRACE]),
  )
})
