/** Runs Prometheus against a process with the rules of deploy/prometheus, whose minutes become seconds. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../experiment/temporary-folder.ts'
import type { Context } from '../experiment/scenario.ts'
import { freePort } from '../launch/free-port.ts'

const RULES = fileURLToPath(new URL('../../../../deploy/prometheus/meltproof.rules.yml', import.meta.url))

export interface ShippedAlerts {
  firing(): Promise<readonly string[]>
}

/** Returns a reason if Prometheus is not available. */
export async function shippedAlerts(context: Context, metricsPort: number): Promise<ShippedAlerts | string> {
  if (context.form === 'brief') return 'the brief form is too short for them'
  if (!existsSync(RULES)) return 'they are not part of the published meltlab; clone the repository'
  try {
    await promisify(execFile)('prometheus', ['--version'])
  } catch {
    return 'prometheus is not on the PATH'
  }
  const folder = temporaryFolder(context, 'prometheus')
  const rules = readFileSync(RULES, 'utf8')
    .replaceAll('[5m]', '[4s]')
    .replace(/for: \d+m/g, 'for: 1s')
  writeFileSync(path.join(folder, 'rules.yml'), rules)
  writeFileSync(
    path.join(folder, 'prometheus.yml'),
    `global: { scrape_interval: 500ms, scrape_timeout: 450ms, evaluation_interval: 500ms }
rule_files: [rules.yml]
scrape_configs: [{ job_name: service, static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }] }]
`,
  )
  const port = await freePort()
  const app = await context.start({
    name: 'Prometheus',
    run: [
      'prometheus',
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    core: 'lab',
    env: { PORT: String(port) },
    atPort: true,
  })
  return {
    async firing() {
      const { data } = await app.ask<{ data: { alerts: { state: string; labels: Record<string, string> }[] } }>(
        '/api/v1/alerts',
      )
      const names = data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels['alertname']!)
      return [...new Set(names)].sort()
    },
  }
}
