/** The manifests of deploy/kubernetes match the schemas of Kubernetes, the Prometheus operator and KEDA. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject'
import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler'
import { Service } from 'kubernetes-models/v1/Service'
import { parse } from 'yaml'
import { TARGET } from '../../packages/meltproof/sim/autoscaler.ts'
import { METRICS } from '../../packages/meltproof/src/observe/metrics.ts'
import { settingsFrom } from '../../packages/meltproof/src/register/options.ts'
import { promqlFaults, yamlFaults } from '../docs/validated.ts'

const MODELS = { Deployment, HorizontalPodAutoscaler, PodMonitor, ScaledObject, Service }
const FILES = globSync('deploy/kubernetes/*.yaml')
const text = (name: string): string => readFileSync(`deploy/kubernetes/${name}.yaml`, 'utf8')

function validate(manifest: string): void {
  const value = parse(manifest)
  const Model = MODELS[value.kind as keyof typeof MODELS] as new (value: unknown) => { validate(): void }
  new Model(value).validate()
}

for (const file of FILES) test(`${file} is valid`, () => validate(readFileSync(file, 'utf8')))

test('an invalid manifest is rejected', () => {
  assert.equal(FILES.length, Object.keys(MODELS).length)
  assert.throws(() => validate(text('deployment').replace('periodSeconds: 1\n', 'periodSeconds: soon\n')))
  assert.throws(() => validate(text('pod-monitor').replace('selector:', 'select:')))
  assert.throws(() => validate(text('scaled-object').replace('type: prometheus', 'kind: prometheus')))
  assert.throws(() => validate(text('hpa').replace('maxReplicas', 'most')))
})

test('the Deployment has only known variables and fields', () => {
  assert.deepEqual(yamlFaults(text('deployment')), [])
})

test('the manifests refer to each other, and use one target', () => {
  const { metadata, spec } = parse(text('deployment'))
  const pod = spec.template
  const [container] = pod.spec.containers
  const ports = container.ports.map((port: { name: string }) => port.name)
  const service = parse(text('service')).spec
  const monitor = parse(text('pod-monitor')).spec
  const hpa = parse(text('hpa')).spec
  const keda = parse(text('scaled-object')).spec
  for (const labels of [spec.selector.matchLabels, service.selector, monitor.selector.matchLabels]) {
    assert.deepEqual(labels, pod.metadata.labels)
  }
  assert.deepEqual([hpa.scaleTargetRef.name, keda.scaleTargetRef.name], [metadata.name, metadata.name])
  assert.ok(ports.includes(monitor.podMetricsEndpoints[0].port))
  for (const { targetPort } of service.ports) assert.ok(ports.includes(targetPort) && targetPort !== 'admin')
  for (const [probe, path] of [
    ['startupProbe', '/startup'],
    ['readinessProbe', '/ready'],
    ['livenessProbe', '/live'],
  ]) {
    assert.deepEqual(container[probe!].httpGet, { path, port: 'admin' })
  }
  const [trigger] = keda.triggers
  assert.equal(trigger.metricType, 'Value')
  const { metric, target } = hpa.metrics[0].pods
  assert.ok(METRICS.some(({ prometheus }) => prometheus === metric.name))
  const { query } = trigger.metadata
  const [, most] = /^avg\(clamp_max\((?:meltproof_load_ratio)\{.*\}, (\d+)\)\)$/.exec(query) ?? []
  assert.ok(query.includes(`${metric.name}{`))
  assert.ok(text('hpa').includes(`by (<<.GroupBy>>), ${most})'`))
  assert.deepEqual([trigger.metadata.threshold, target.averageValue], [String(TARGET), `${TARGET * 1000}m`])
  assert.deepEqual(keda.advanced.horizontalPodAutoscalerConfig.behavior, hpa.behavior)
})

test('the query of the ScaledObject is valid PromQL', () => {
  assert.deepEqual(promqlFaults(parse(text('scaled-object')).spec.triggers[0].metadata.query), [])
})

test('the liveness probe tolerates a stall, and the grace period covers a drain', () => {
  const { spec } = parse(text('deployment')).spec.template
  const { periodSeconds, failureThreshold } = spec.containers[0].livenessProbe
  assert.ok(periodSeconds * failureThreshold >= 60)
  const { env } = spec.containers[0] as { env: { name: string; value: string }[] }
  const delay = env.find(({ name }) => name === 'MELTPROOF_DRAIN_DELAY')!.value
  const delayS = (settingsFrom({ MELTPROOF_DRAIN_DELAY: delay }).protect.drainDelayMs ?? 0) / 1000
  assert.ok(delayS >= 10)
  assert.ok(spec.terminationGracePeriodSeconds > Math.max(25, 2 * delayS) + 1)
})
