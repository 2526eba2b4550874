/** Other load tools: the command that makes each send a load, and the parser of its output. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Latencies of answers, ms. Undefined if the tool does not report one. */
export interface ReportedFigures {
  readonly requests: number
  readonly p50?: number | undefined
  readonly p90?: number | undefined
  readonly p99?: number | undefined
  readonly max?: number | undefined
}

/** `rate` is in requests per second. If it is undefined, `connections` clients send as fast as they get answers. */
export interface Asked {
  readonly url: string
  readonly rate: number | undefined
  readonly seconds: number
  readonly connections: number
}

export interface LoadTool {
  readonly name: string
  /** Program to find on PATH. */
  readonly program: string
  readonly versionArgs: readonly string[]
  /** True when the tool can send at a given rate. */
  readonly keepsRate: boolean
  /** How to get it. */
  readonly from: string
  /** @param folder for further files that it writes */
  readonly command: (asked: Asked, folder: string) => readonly string[]
  readonly read: (stdout: string) => ReportedFigures
}

const LAB = join(import.meta.dirname, '../../packages/lab/bin/meltlab.js')
const AUTOCANNON = join(import.meta.dirname, '../../node_modules/autocannon/autocannon.js')

const msOf = (text: string | undefined): number | undefined => {
  const [, value, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(text ?? '') ?? []
  return value === undefined ? undefined : Number(value) * { us: 0.001, ms: 1, s: 1000, m: 60_000 }[unit as 'us']!
}
const scaled = (value: number | null | undefined, factor: number): number | undefined =>
  value === undefined || value === null ? undefined : value * factor

export const LOAD_TOOLS: readonly LoadTool[] = [
  {
    name: 'meltlab attack',
    program: process.execPath,
    versionArgs: [LAB, '--version'],
    keepsRate: true,
    from: 'this repository',
    command: ({ url, rate, seconds, connections }) => [
      process.execPath,
      LAB,
      'attack',
      url,
      ...(rate === undefined ? ['--users', String(connections)] : ['--rate', String(rate)]),
      ...(rate === undefined ? [] : ['--connections', String(connections)]),
      ...['--duration', `${seconds}s`, '--quiet', '--json'],
    ],
    read: stdout => {
      const { sent, latencyMs } = JSON.parse(stdout) as { sent: number; latencyMs: Record<string, number> }
      const { p50, p90, p99, max } = latencyMs
      return { requests: sent, p50, p90, p99, max }
    },
  },
  {
    name: 'vegeta',
    program: 'vegeta',
    versionArgs: ['-version'],
    keepsRate: true,
    from: 'go install github.com/tsenart/vegeta/v12@latest',
    command: ({ url, rate, seconds, connections }, folder) => {
      const load = rate === undefined ? `-rate 0 -max-workers ${connections}` : `-rate ${rate}`
      const results = join(folder, 'vegeta.bin')
      return [
        'sh',
        '-c',
        `echo 'GET ${url}' | vegeta attack ${load} -connections ${connections} -duration ${seconds}s > ${results} && vegeta report -type json ${results}`,
      ]
    },
    read: stdout => {
      const { requests, latencies } = JSON.parse(stdout) as { requests: number; latencies: Record<string, number> }
      const at = (name: string): number | undefined => scaled(latencies[name], 1e-6)
      return { requests, p50: at('50th'), p90: at('90th'), p99: at('99th'), max: at('max') }
    },
  },
  {
    name: 'k6',
    program: 'k6',
    versionArgs: ['version'],
    keepsRate: true,
    from: 'go install go.k6.io/k6@latest',
    command: ({ url, rate, seconds, connections }, folder) => {
      const load =
        rate === undefined
          ? { executor: 'constant-vus', vus: connections, duration: `${seconds}s` }
          : {
              executor: 'constant-arrival-rate',
              rate,
              timeUnit: '1s',
              duration: `${seconds}s`,
              preAllocatedVUs: connections,
              maxVUs: 1000,
            }
      const options = { scenarios: { load }, summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'max'] }
      const script = join(folder, 'load.js')
      writeFileSync(
        script,
        `import http from 'k6/http'\nexport const options = ${JSON.stringify(options)}\n` +
          `export default () => http.get('${url}')\nexport const handleSummary = data => ({ stdout: JSON.stringify(data) })\n`,
      )
      return ['k6', 'run', '--quiet', '--no-usage-report', script]
    },
    read: stdout => {
      const { metrics } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as {
        metrics: Record<string, { values: Record<string, number> }>
      }
      const { 'p(50)': p50, 'p(90)': p90, 'p(99)': p99, max } = metrics['http_req_duration']!.values
      return { requests: metrics['http_reqs']!.values['count']!, p50, p90, p99, max }
    },
  },
  {
    name: 'oha',
    program: 'oha',
    versionArgs: ['--version'],
    keepsRate: true,
    from: 'cargo install oha',
    command: ({ url, rate, seconds, connections }) => [
      ...['oha', '--no-tui', '--output-format', 'json', '-c', String(connections), '-z', `${seconds}s`],
      ...(rate === undefined ? [] : ['-q', String(rate)]),
      url,
    ],
    read: stdout => {
      const { summary, latencyPercentiles, statusCodeDistribution } = JSON.parse(stdout) as {
        summary: { slowest: number }
        latencyPercentiles: Record<string, number | null>
        statusCodeDistribution: Record<string, number>
      }
      const at = (name: string): number | undefined => scaled(latencyPercentiles[name], 1000)
      const requests = Object.values(statusCodeDistribution).reduce((sum, count) => sum + count, 0)
      return { requests, p50: at('p50'), p90: at('p90'), p99: at('p99'), max: summary.slowest * 1000 }
    },
  },
  {
    name: 'autocannon',
    program: process.execPath,
    versionArgs: [AUTOCANNON, '--version'],
    keepsRate: true,
    from: 'npm',
    command: ({ url, rate, seconds, connections }) => [
      ...[process.execPath, AUTOCANNON, '--json', '--connections', String(connections), '--duration', String(seconds)],
      ...(rate === undefined ? [] : ['--overallRate', String(rate)]),
      url,
    ],
    read: stdout => {
      const { requests, latency } = JSON.parse(stdout) as {
        requests: { total: number }
        latency: Record<'p50' | 'p90' | 'p99' | 'max', number>
      }
      const { p50, p90, p99, max } = latency
      return { requests: requests.total, p50, p90, p99, max }
    },
  },
  {
    name: 'wrk2',
    program: 'wrk2',
    versionArgs: ['--version'],
    keepsRate: true,
    from: 'its repository, with make',
    command: ({ url, rate, seconds, connections }) => [
      ...['wrk2', '-t1', `-c${connections}`, `-d${seconds}s`, '--latency', `-R${rate ?? 1_000_000}`],
      url,
    ],
    read: stdout => readWrk(stdout),
  },
  {
    name: 'wrk',
    program: 'wrk',
    versionArgs: ['--version'],
    keepsRate: false,
    from: 'the package wrk of Debian',
    command: ({ url, seconds, connections }) => [
      ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--latency'],
      url,
    ],
    read: stdout => readWrk(stdout),
  },
  {
    name: 'ab',
    program: 'ab',
    versionArgs: ['-V'],
    keepsRate: false,
    from: 'the package apache2-utils of Debian',
    command: ({ url, seconds, connections }) => [
      ...['ab', '-q', '-k', '-c', String(connections), '-t', String(seconds), '-n', '50000000'],
      url,
    ],
    read: stdout => {
      const at = (share: string): number => Number(new RegExp(`^\\s*${share}%\\s+(\\d+)`, 'm').exec(stdout)?.[1])
      const requests = Number(/^Complete requests:\s+(\d+)/m.exec(stdout)?.[1])
      return { requests, p50: at('50'), p90: at('90'), p99: at('99'), max: at('100') }
    },
  },
]

function readWrk(stdout: string): ReportedFigures {
  const at = (share: string): number | undefined =>
    msOf(new RegExp(`^\\s*${share}(?:\\.0+)?%\\s+(\\S+)`, 'm').exec(stdout)?.[1])
  const max = msOf(/^\s*Latency\s+\S+\s+\S+\s+(\S+)/m.exec(stdout)?.[1])
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1])
  return { requests, p50: at('50'), p90: at('90'), p99: at('99'), max }
}

/** Undefined when the tool is not on this machine. */
export function versionOf({ program, versionArgs }: LoadTool): string | undefined {
  const { stdout, stderr, error } = spawnSync(program, versionArgs, { encoding: 'utf8' })
  if (error !== undefined) return undefined
  // A binary of `go install` does not print its own version, but it names its module.
  return versionIn(`${stdout}${stderr}`) ?? moduleVersionIn(goVersionOf(program)) ?? 'dev build'
}

export const versionIn = (text: string): string | undefined => /(?<!go|[\d.])\d+\.\d[\w.-]*/.exec(text)?.[0]

/** Parses the output of `go version -m`. */
export const moduleVersionIn = (text: string): string | undefined => /^\s*mod\s+\S+\s+v(\d\S*)/m.exec(text)?.[1]

/** Empty without Go, or if the program is not written in Go. */
function goVersionOf(program: string): string {
  return spawnSync('sh', ['-c', 'go version -m "$(command -v "$0")"', program], { encoding: 'utf8' }).stdout ?? ''
}
