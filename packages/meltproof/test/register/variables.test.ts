/**
 * MELTPROOF_* variables: valid values apply; invalid values and unknown names are reported once, and the process runs.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PROBES, settingsFrom, VARIABLES } from '../../src/register/options.ts'
import { checkProtectOptions } from '../../src/server/protect-options.ts'
import { get, start } from './child.ts'

const DEFAULTS = settingsFrom({})

it('without variables, register protects and exempts probes, and does nothing else', () => {
  assert.deepEqual(DEFAULTS, {
    on: true,
    protect: { exempt: PROBES },
    stdout: undefined,
    outbound: undefined,
    admin: undefined,
    haproxyAgent: undefined,
    accessLog: undefined,
    drain: false,
    culprit: undefined,
    watch: undefined,
    warnings: [],
  })
})

describe('valid variables become settings', () => {
  for (const [variables, changed] of [
    [{ MELTPROOF: 'on' }, {}],
    [{ MELTPROOF: '', MELTPROOF_LANES: '', MELTPROOF_SPEED: '' }, {}],
    [{ MELTPROOF: 'off' }, { on: false }],
    [{ MELTPROOF: 'false' }, { on: false }],
    [{ MELTPROOF: 'off ' }, { on: false }],
    [
      { MELTPROOF: ' off\r', MELTPROOF_DRAIN: 'on\r', MELTPROOF_LANES: ' \t' },
      { on: false, drain: true },
    ],
    [{ MELTPROOF_ADMIN: ' 127.0.0.1:9401\r' }, { admin: { host: '127.0.0.1', port: 9401 } }],
    [{ MELTPROOF_OUTBOUND: 'on' }, { outbound: {} }],
    [{ MELTPROOF_OUTBOUND: '0', MELTPROOF_OUTBOUND_TOTAL: '2s' }, { outbound: undefined }],
    [{ MELTPROOF_OUTBOUND_CONNECT: '2s' }, { outbound: { connectMs: 2000 } }],
    [{ MELTPROOF_OUTBOUND_FIRST_BYTE: '1m' }, { outbound: { firstByteMs: 60_000 } }],
    [{ MELTPROOF_OUTBOUND_TOTAL: '24h' }, { outbound: { totalMs: 86_400_000 } }],
    [{ MELTPROOF_OUTBOUND_IN_FLIGHT: '100' }, { outbound: { maxInFlight: 100 } }],
    [
      { MELTPROOF_TELL_TO: 'http://prices:8080, http://*.svc.cluster.local' },
      { outbound: { tellTo: ['http://prices:8080', 'http://*.svc.cluster.local'] } },
    ],
    [{ MELTPROOF_ADMIN: '127.0.0.1:9401' }, { admin: { host: '127.0.0.1', port: 9401 } }],
    [{ MELTPROOF_HAPROXY_AGENT: '0.0.0.0:9402' }, { haproxyAgent: { host: '0.0.0.0', port: 9402 } }],
    [{ MELTPROOF_ADMIN: '[::]:65535' }, { admin: { host: '::', port: 65_535 } }],
    [{ MELTPROOF_ACCESS_LOG: 'json' }, { accessLog: { format: 'json' } }],
    [{ MELTPROOF_ACCESS_LOG: 'off' }, {}],
    [{ MELTPROOF_DRAIN: 'True' }, { drain: true }],
    [{ MELTPROOF_CULPRIT: 'on' }, { culprit: {} }],
    [{ MELTPROOF_CULPRIT: '250ms' }, { culprit: { thresholdMs: 250 } }],
    [{ MELTPROOF_CULPRIT: 'off' }, { culprit: undefined }],
    [{ MELTPROOF_WATCH: '/tmp/watch' }, { watch: '/tmp/watch' }],
    [{ MELTPROOF_STDOUT: 'on' }, { stdout: {} }],
    [{ MELTPROOF_STDOUT: 'off', MELTPROOF_STDOUT_FLUSH: '2s' }, { stdout: undefined }],
    [{ MELTPROOF_STDOUT_BUFFER: '64KB' }, { stdout: { bufferBytes: 65_536 } }],
    [{ MELTPROOF_STDOUT_BUFFER: '1024MB' }, { stdout: { bufferBytes: 1_073_741_824 } }],
    [{ MELTPROOF_STDOUT_FLUSH: '0ms' }, { stdout: { flushMs: 0 } }],
    [{ MELTPROOF_STDOUT_FLUSH: '1m' }, { stdout: { flushMs: 60_000 } }],
    [{ PATH: '/bin', MELT: 'cheese', MELTPROOFING: 'yes' }, {}],
  ] as const) {
    it(JSON.stringify(variables), () => assert.deepEqual(settingsFrom(variables), { ...DEFAULTS, ...changed }))
  }
})

describe('a valid variable becomes an option of protect()', () => {
  for (const [name, value, option] of [
    ['DRY_RUN', 'on', { dryRun: true }],
    ['LANES', '1', { lanes: 1 }],
    ['LANES', '128', { lanes: 128 }],
    ['LIMIT', '1', { limit: 1 }],
    ['LIMIT', '1000000', { limit: 1_000_000 }],
    ['DEADLINE', '1ms', { deadlineMs: 1 }],
    ['DEADLINE', '24h', { deadlineMs: 86_400_000 }],
    ['READINESS', '/ready', { readiness: '/ready' }],
    ['RETRY_AFTER', '3s', { retryAfterS: [3, 3] }],
    ['RETRY_AFTER', '1s-86400s', { retryAfterS: [1, 86_400] }],
    ['SHED_HEADERS', 'Vary: Origin | x-a:b', { shedHeaders: { vary: 'Origin', 'x-a': 'b' } }],
    ['TRUST_CALLERS_FROM', '10.0.0.0/8, ::1', { trustCallersFrom: ['10.0.0.0/8', '::1'] }],
    ['CRITICALITY_HEADER', 'X-Meltproof-Criticality', { criticalityHeader: 'x-meltproof-criticality' }],
    ['REPORT_LOAD_TO', '10.0.0.0/8, ::1', { reportLoadTo: ['10.0.0.0/8', '::1'] }],
    ['DRAIN_DELAY', '8s', { drainDelayMs: 8000 }],
    ['DRAIN_DELAY', '0ms', { drainDelayMs: 0 }],
    ['EXEMPT', 'none', { exempt: [] }],
    ['EXEMPT', '/metrics, /internal/*', { exempt: [...PROBES, '/metrics', '/internal/*'] }],
    ['EXEMPT', 'none,/metrics', { exempt: ['/metrics'] }],
  ] as const) {
    it(`MELTPROOF_${name}=${value}`, () => {
      const { protect, warnings } = settingsFrom({ [`MELTPROOF_${name}`]: value })
      assert.deepEqual({ protect, warnings }, { protect: { exempt: PROBES, ...option }, warnings: [] })
      assert.doesNotThrow(() => checkProtectOptions(protect), 'protect() takes it')
    })
  }
})

describe('a value out of range keeps the default, with a warning', () => {
  for (const [name, value, sentence] of [
    ['MELTPROOF', 'no', /^MELTPROOF must be `on` or `off`; got 'no'\. Using the default\.$/],
    ['MELTPROOF_OUTBOUND', '5s', /^MELTPROOF_OUTBOUND must be `on` or `off`; got '5s'/],
    ['MELTPROOF_DRY_RUN', 'yes please', /^MELTPROOF_DRY_RUN must be `on` or `off`/],
    ['MELTPROOF_LANES', '0', /^MELTPROOF_LANES must be a whole number from 1 to 128; got '0'/],
    ['MELTPROOF_LANES', '129', /from 1 to 128; got '129'/],
    ['MELTPROOF_LANES', '4.5', /got '4\.5'/],
    ['MELTPROOF_LANES', '0x10', /got '0x10'/],
    ['MELTPROOF_LIMIT', '0', /^MELTPROOF_LIMIT must be a whole number from 1 to 1000000; got '0'/],
    ['MELTPROOF_LIMIT', '1000001', /got '1000001'/],
    ['MELTPROOF_SHED_HEADERS', 'vary', /^a field of MELTPROOF_SHED_HEADERS must be the name of a header field; got ''/],
    ['MELTPROOF_SHED_HEADERS', 'x-a: b\r\nx-b: c', /MELTPROOF_SHED_HEADERS\[x-a\] must be a string of printable ASCII/],
    [
      'MELTPROOF_SHED_HEADERS',
      'connection: close',
      /must be not a field that meltproof or Node writes; got 'connection'/,
    ],
    ['MELTPROOF_REPORT_LOAD_TO', 'on', /^MELTPROOF_REPORT_LOAD_TO\[0\] must be an IP address or a network.*got 'on'/],
    ['MELTPROOF_REPORT_LOAD_TO', '10.0.0.0/8,,', /MELTPROOF_REPORT_LOAD_TO\[1\]/],
    ['MELTPROOF_DEADLINE', '0s', /^MELTPROOF_DEADLINE must be a time with its unit.* from 1ms to 24h; got '0s'/],
    ['MELTPROOF_OUTBOUND_TOTAL', '5', /^MELTPROOF_OUTBOUND_TOTAL must be a time with its unit/],
    ['MELTPROOF_TRUST_CALLERS_FROM', 'on', /^MELTPROOF_TRUST_CALLERS_FROM\[0\] must be an IP address or a network/],
    ['MELTPROOF_CRITICALITY_HEADER', 'a b', /^MELTPROOF_CRITICALITY_HEADER must be the name of a header field/],
    ['MELTPROOF_TELL_TO', '*', /^MELTPROOF_TELL_TO must be an origin/],
    ['MELTPROOF_TELL_TO', 'http://a,', /^MELTPROOF_TELL_TO must be an origin/],
    ['MELTPROOF_TELL_TO', 'prices:8080', /^MELTPROOF_TELL_TO must be an origin.*got 'prices:8080'/],
    ['MELTPROOF_OUTBOUND_IN_FLIGHT', '0', /^MELTPROOF_OUTBOUND_IN_FLIGHT must be a whole number from 1 to 1000000/],
    [
      'MELTPROOF_ADMIN',
      '9401',
      /^MELTPROOF_ADMIN must be an address and a port, such as `127\.0\.0\.1:9401`.*got '9401'/,
    ],
    ['MELTPROOF_ADMIN', 'localhost:0', /got 'localhost:0'/],
    ['MELTPROOF_ADMIN', '0.0.0.0:65536', /got '0\.0\.0\.0:65536'/],
    ['MELTPROOF_ACCESS_LOG', 'on', /^MELTPROOF_ACCESS_LOG must be `json`, `combined` or `off`; got 'on'/],
    ['MELTPROOF_DEADLINE', '25h', /got '25h'/],
    ['MELTPROOF_DRAIN_DELAY', '8', /^MELTPROOF_DRAIN_DELAY must be a time with its unit.* from 0ms to 60s; got '8'/],
    ['MELTPROOF_DRAIN_DELAY', '61s', /got '61s'/],
    ['MELTPROOF_EXEMPT', 'healthz', /^MELTPROOF_EXEMPT must be paths that begin with '\/'.*got 'healthz'/],
    ['MELTPROOF_EXEMPT', '/a?b', /got '\/a\?b'/],
    ['MELTPROOF_READINESS', 'ready', /^MELTPROOF_READINESS must be a path/],
    ['MELTPROOF_READINESS', '/ready*', /got '\/ready\*'/],
    [
      'MELTPROOF_RETRY_AFTER',
      '3',
      /^MELTPROOF_RETRY_AFTER must be whole seconds with their unit, such as `3s`.*got '3'/,
    ],
    ['MELTPROOF_RETRY_AFTER', '0s', /got '0s'/],
    ['MELTPROOF_RETRY_AFTER', '5s-1s', /got '5s-1s'/],
    ['MELTPROOF_RETRY_AFTER', '86401s', /got '86401s'/],
    ['MELTPROOF_STDOUT', 'no', /^MELTPROOF_STDOUT must be `on` or `off`; got 'no'/],
    ['MELTPROOF_STDOUT_BUFFER', '8', /^MELTPROOF_STDOUT_BUFFER must be a size with its unit.*got '8'/],
    ['MELTPROOF_STDOUT_BUFFER', '63KB', /got '63KB'/],
    ['MELTPROOF_STDOUT_BUFFER', '1025MB', /got '1025MB'/],
    ['MELTPROOF_STDOUT_FLUSH', '500', /^MELTPROOF_STDOUT_FLUSH must be a time with its unit.*got '500'/],
  ] as const) {
    it(`${name}=${value}`, () => {
      const { warnings, ...settings } = settingsFrom({ [name]: value })
      assert.deepEqual({ ...settings, warnings: [] }, DEFAULTS)
      assert.equal(warnings.length, 1)
      assert.match(warnings[0]!, sentence)
    })
  }
})

describe('an unknown variable', () => {
  for (const [name, sentence] of [
    ['MELTPROOF_LANE', 'MELTPROOF_LANE is not known. Did you mean MELTPROOF_LANES?'],
    ['MELTPROOF_RETRYAFTER', 'MELTPROOF_RETRYAFTER is not known. Did you mean MELTPROOF_RETRY_AFTER?'],
    ['MELTPROOF_DRYRUN', 'MELTPROOF_DRYRUN is not known. Did you mean MELTPROOF_DRY_RUN?'],
    ['MELTPROOF_ADMIN_PORT', 'MELTPROOF_ADMIN_PORT is not known. Did you mean MELTPROOF_ADMIN?'],
    [
      'MELTPROOF_STDOUT_BUFFER_SIZE',
      'MELTPROOF_STDOUT_BUFFER_SIZE is not known. Did you mean MELTPROOF_STDOUT_BUFFER?',
    ],
    ['MELTPROOF_SPEED_OF_LIGHT', 'MELTPROOF_SPEED_OF_LIGHT is not known.'],
  ] as const) {
    it(`${name} is reported, with the nearest name if there is one`, () => {
      assert.deepEqual(settingsFrom({ [name]: '9401' }), { ...DEFAULTS, warnings: [sentence] })
    })
  }

  it('is ignored if Kubernetes sets it for a Service', () => {
    const ofServices = Object.fromEntries(
      ['MELTPROOF', 'MELTPROOF_API', 'MELTPROOF_LANE', 'MELTPROOF_ADMIN'].flatMap(service =>
        Object.entries({
          SERVICE_HOST: '10.96.0.1',
          SERVICE_PORT: '80',
          SERVICE_PORT_HTTP: '80',
          SERVICE_PORT_PORT: '80',
          PORT: 'tcp://10.96.0.1:80',
          PORT_80_TCP: 'tcp://10.96.0.1:80',
          PORT_80_TCP_PROTO: 'tcp',
          PORT_80_TCP_PORT: '80',
          PORT_80_TCP_ADDR: '10.96.0.1',
          PORT_53_UDP: 'udp://10.96.0.1:53',
        }).map(([rest, value]) => [`${service}_${rest}`, value]),
      ),
    )
    assert.deepEqual(settingsFrom(ofServices), DEFAULTS)
    for (const name of VARIABLES) assert.doesNotMatch(name, /_PORT$|_PORT_|_SERVICE_/, 'a Service could set it')
  })
})

describe('a process with invalid variables', () => {
  const WRONG = { MELTPROOF_LANE: '4', MELTPROOF_LIMIT: 'many', MELTPROOF_STDOUT: 'no' }

  it('runs, and warns once for each when it listens', async () => {
    const child = start('http.mjs', { env: WRONG })
    assert.equal(await get(await child.port(), '/stop'), 'admitted 1')
    const { code, stderr } = await child.ended
    assert.equal(code, 0)
    for (const name of Object.keys(WRONG))
      assert.equal(stderr.split(`is configured wrongly: ${name} `).length, 2, stderr)
  })

  it('does not warn when it never listens', async () => {
    const { code, stdout, stderr } = await start('quiet.mjs', { env: WRONG }).ended
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'ran\n', stderr: '' })
  })

  for (const MELTPROOF of ['off', 'off ', 'off\r']) {
    it(`does not warn with MELTPROOF=${JSON.stringify(MELTPROOF)}`, async () => {
      const child = start('http.mjs', { env: { ...WRONG, MELTPROOF } })
      assert.equal(await get(await child.port(), '/stop'), 'bare')
      const { code, stderr } = await child.ended
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    })
  }
})
