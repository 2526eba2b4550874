/**
 * deploy/prometheus: the rules pass the cases of promtool, and work in a real Prometheus that scrapes a real process.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../packages/lab/src/launch/free-port.ts'
import { protect } from '../../packages/meltproof/src/index.ts'
import { metrics } from '../../packages/meltproof/src/observe/prometheus.ts'

const FOLDER = join(import.meta.dirname, '../../deploy/prometheus')
const RULES = readFileSync(join(FOLDER, 'meltproof.rules.yml'), 'utf8')
const CASES = readFileSync(join(FOLDER, 'meltproof.rules.test.yml'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'meltproof-prometheus-'))
const children: ChildProcess[] = []
after(() => {
  for (const child of children) {
    if (child.connected) child.disconnect()
    child.kill('SIGKILL')
  }
  rmSync(folder, { recursive: true, force: true })
})

const missing = spawnSync('promtool', ['--version']).error !== undefined
if (missing && process.env['CI'] !== undefined) throw new Error('promtool is missing: apt-get install prometheus')
const options = missing ? { skip: 'promtool is not installed: apt-get install prometheus' } : {}

/** Whether the cases pass in promtool with these rules. */
function passes(rules: string, cases: string = CASES): boolean {
  writeFileSync(join(folder, 'meltproof.rules.yml'), rules)
  writeFileSync(join(folder, 'meltproof.rules.test.yml'), cases)
  const file = join(folder, 'meltproof.rules.test.yml')
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
  // 1 means that a case failed. Any other code means that promtool could not run the cases.
  assert.ok(status === 0 || status === 1, `promtool ended with ${status}: ${stdout}${stderr}`)
  return status === 0
}

test('the rules pass their promtool tests', options, () => {
  assert.ok(passes(RULES))
})

test('the promtool tests fail for every rule with a wrong label, threshold or name', options, () => {
  const wrong: readonly (readonly [from: string, to: string])[] = [
    ['{verdict="dependency"} > 0.05', '{verdict="dependancy"} > 0.05'],
    ['{verdict="dependency"} > 0.05', '{verdict=~".+"} > 0.05'],
    ['{verdict="loop"} > 0.05', '{verdict="self"} > 0.05'],
    ['{verdict="network"} > 0.05\n          or instance', '{verdict="netwrok"} > 0.05\n          or instance'],
    ['meltproof_shed_total', 'meltproof_sheds_total'],
    ['stream) (increase', 'strem) (increase'],
    ['slow: queue', 'slow: loop'],
    ['for: 10m', 'for: 1s'],
    ['meltproof_loop_delay_seconds_bucket[5m]', 'meltproof_loop_delay_bucket[5m]'],
    ['dry_run!="true"', 'dry_run=~".*"'],
    ['error_type!="shed"', 'error_type=~".*"'],
    ['outcome="admitted"', 'outcome="shed"'],
  ]
  // Only a burst reveals a `for` that is too short.
  const burst = CASES.replace("'0x10 600x20'", "'0x18 0+600x12'")
  assert.notEqual(burst, CASES)
  assert.ok(passes(RULES, burst))
  for (const [from, to] of wrong) {
    assert.ok(RULES.includes(from), `${from} is not in the rules any more`)
    const changed = RULES.replaceAll(from, to)
    assert.equal(passes(changed, from === 'for: 10m' ? burst : CASES), false, `${from} -> ${to} goes unnoticed`)
  }
})

test('every metric read by a rule is exported by metrics()', () => {
  const handler = metrics(protect(http.createServer()))
  const exported = new Set([...handler.text().matchAll(/^# TYPE (\S+)/gm)].map(match => match[1]!))
  handler.close()
  const read = RULES.matchAll(/\b((?:meltproof|http|nodejs)_\w+?)(?:_sum|_count|_bucket)?(?=[[{])/g)
  const names = new Set([...read].map(match => match[1]!).filter(name => !RULES.includes(`:${name}`)))
  assert.ok(names.size >= 6)
  for (const name of names) assert.ok(exported.has(name), `${name} is not exported`)
})

test('the dashboard uses exported metrics in valid PromQL', options, () => {
  const file = join(import.meta.dirname, '../../deploy/grafana/meltproof.json')
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: { targets: { expr: string }[] }[] }
  const handler = metrics(protect(http.createServer()))
  const exported = handler.text()
  handler.close()
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  assert.ok(expressions.length > 10)
  for (const expr of expressions) {
    const [, name] = /\b((?:meltproof|http|nodejs)_\w+?)(?:_sum|_count|_bucket)?\{/.exec(expr)!
    assert.ok(exported.includes(`# TYPE ${name} `), `${name} is not exported`)
  }
  const rules = expressions.map(
    (expr, n) => `  - { record: 'panel:${n}', expr: '${expr.replaceAll('$__rate_interval', '5m')}' }`,
  )
  writeFileSync(join(folder, 'panels.yml'), `groups:\n- name: panels\n  rules:\n${rules.join('\n')}\n`)
  const checked = spawnSync('promtool', ['check', 'rules', join(folder, 'panels.yml')], { encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stderr)
})

interface Alert {
  readonly state: string
  readonly labels: Readonly<Record<string, string>>
}

test('a real Prometheus fires the right alert for each fault, and no other', {
  ...options,
  timeout: 170_000,
}, async () => {
  const service = fork(join(import.meta.dirname, 'service.fixture.ts'))
  children.push(service)
  const [{ port, scrapePort }] = (await once(service, 'message')) as [{ port: number; scrapePort: number }]
  // The same rules, with seconds instead of minutes.
  const quick = RULES.replaceAll('[5m]', '[4s]').replace(/for: \d+m/g, 'for: 1s')
  writeFileSync(join(folder, 'quick.rules.yml'), quick)
  assert.equal(spawnSync('promtool', ['check', 'rules', join(folder, 'quick.rules.yml')]).status, 0)
  writeFileSync(
    join(folder, 'prometheus.yml'),
    `global: { scrape_interval: 500ms, scrape_timeout: 450ms, evaluation_interval: 500ms }
rule_files: [quick.rules.yml]
scrape_configs:
  - job_name: service
    static_configs: [{ targets: ['127.0.0.1:${scrapePort}'] }]
    relabel_configs: [{ target_label: instance, replacement: '127.0.0.1:${port}' }]
`,
  )
  const prometheusPort = await freePort()
  const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`]
  const prometheus = spawn('prometheus', [...args, `--web.listen-address=127.0.0.1:${prometheusPort}`], {
    stdio: 'ignore',
  })
  children.push(prometheus)

  const firing = async (): Promise<Alert[]> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${prometheusPort}/api/v1/alerts`)
      const { data } = (await answer.json()) as { data: { alerts: Alert[] } }
      return data.alerts.filter(({ state }) => state === 'firing')
    } catch {
      return []
    }
  }
  const names = async (): Promise<string[]> => [...new Set((await firing()).map(({ labels }) => labels['alertname']!))]

  const faults: readonly (readonly [fault: string, alert: string])[] = [
    ['dependency', 'MeltproofDependencySlow'],
    ['loop', 'MeltproofLoopBlocked'],
    ['network', 'MeltproofNetworkSlow'],
    ['log', 'MeltproofLogLinesLost'],
  ]
  for (const [fault, alert] of faults) {
    service.send('none')
    await until(`silence before ${fault}`, async () => (await scraped(prometheusPort)) && (await names()).length === 0)
    service.send(fault)
    await until(`${alert} for ${fault}`, async () => (await names()).includes(alert))
    assert.deepEqual(await names(), [alert], `for ${fault}`)
  }
  service.disconnect()
})

/** Whether Prometheus has the rates of the last seconds. */
async function scraped(port: number): Promise<boolean> {
  try {
    const query = encodeURIComponent('instance_peer:meltproof_slow_calls:ratio_rate5m')
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${query}`)
    const { data } = (await answer.json()) as { data: { result: unknown[] } }
    return data.result.length > 0
  } catch {
    return false
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 40_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `${what} did not come about`)
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
