import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LoadFigures } from '../../../src/process-gate.ts'
import { loadReport } from '../../../src/server/response/load-report.ts'

const QUIET: LoadFigures = { loop: 0.3, utilisation: 0.5, demand: 1, offeredPerS: 100, shedPerS: 0, failedPerS: 0 }

/** Parses the text of a report. */
function read(figures: Partial<LoadFigures>): Readonly<Record<string, number>> | undefined {
  const report = loadReport({ ...QUIET, ...figures })
  if (report === undefined) return undefined
  const [, list] = /^TEXT ([\x21-\x7e]+)$/.exec(report.text) ?? assert.fail(report.text)
  return Object.fromEntries(
    list!.split(',').map(field => {
      const [name, value] = field.split(':')
      return [name!, Number(value)]
    }),
  )
}

/** The weight that Envoy and gRPC compute. */
function weight(figures: Partial<LoadFigures>, penalty = 0): number {
  const { application_utilization: application, rps_fractional: rps, eps } = read(figures)!
  return rps! / (application! + (eps! / rps!) * penalty)
}

test('a load report has the loop, utilisation and request rate of an instance that sheds nothing', () => {
  assert.deepEqual(read({}), { cpu_utilization: 0.3, application_utilization: 0.5, rps_fractional: 100, eps: 0 })
  assert.equal(weight({}), 200)
})

test('a load report counts sheds as requests and as errors, and multiplies the utilisation by demand', () => {
  const overloaded = { loop: 1, utilisation: 1, demand: 4, offeredPerS: 400, shedPerS: 300 }
  assert.deepEqual(read(overloaded), {
    cpu_utilization: 1,
    application_utilization: 4,
    rps_fractional: 400,
    eps: 300,
  })
  assert.equal(weight(overloaded), 100)
})

test('load reports give an instance the weight of its capacity at any offered load', () => {
  const capacity = 120
  for (const offeredPerS of [30, 60, 119, 120, 240, 1200, 12_000]) {
    const shedPerS = Math.max(0, offeredPerS - capacity)
    const demand = offeredPerS / (offeredPerS - shedPerS)
    const utilisation = Math.min(1, offeredPerS / capacity)
    const figures = { loop: utilisation, utilisation, demand, offeredPerS, shedPerS, failedPerS: 0 }
    const near = (found: number, wanted: number): void => assert.ok(Math.abs(found / wanted - 1) < 0.001, `${found}`)
    near(weight(figures), capacity)
    // With Envoy's default penalty an instance that sheds gets less weight, but at least four fifths of its capacity.
    const share = shedPerS / offeredPerS
    near(weight(figures, 1), capacity / (1 + share * (1 - share)))
  }
})

test('a load report counts failures as errors, so that an instance that fails fast draws no requests', () => {
  const healthy = { loop: 0.8, utilisation: 0.8, offeredPerS: 160 }
  const failing = { loop: 0.01, utilisation: 0.01, offeredPerS: 160, failedPerS: 160 }
  assert.equal(read(failing)!['eps'], 160)
  assert.ok(weight(failing, 1) < weight(healthy, 1), `${weight(failing, 1)}`)
  assert.equal(read({ offeredPerS: 10, shedPerS: 6, failedPerS: 6 })!['eps'], 10, 'no more than have come')
})

test('there is no load report without usable figures', () => {
  assert.equal(read({ offeredPerS: 0 }), undefined)
  assert.equal(read({ loop: 0.01, utilisation: 0.01 }), undefined)
  assert.equal(read({ offeredPerS: Number.NaN }), undefined)
  assert.equal(read({ utilisation: Number.NaN }), undefined)
})

test('a load report in protobuf has the same figures', () => {
  const { binary } = loadReport({ ...QUIET, demand: 3, utilisation: 0.9, shedPerS: 12.5 })!
  const bytes = Buffer.from(binary, 'base64')
  const fields = Array.from({ length: bytes.length / 9 }, (_, i) => [bytes[9 * i]! >> 3, bytes.readDoubleLE(9 * i + 1)])
  // Field numbers of the proto: cpu_utilization = 1, application_utilization = 9, rps_fractional = 6, eps = 7.
  assert.deepEqual(fields, [
    [1, 0.3],
    [9, 0.9 * 3],
    [6, 100],
    [7, 12.5],
  ])
  assert.ok(
    [...bytes].every((byte, i) => i % 9 !== 0 || (byte & 7) === 1),
    'doubles',
  )
  assert.doesNotMatch(binary, /=/)
})

test('property: a load report is finite, in range and below 120 characters, whatever the figures', () => {
  const any = fc.oneof(fc.double(), fc.double({ min: 0, max: 2, noNaN: true }), fc.nat())
  const figures = fc.record({
    loop: any,
    utilisation: any,
    demand: any,
    offeredPerS: any,
    shedPerS: any,
    failedPerS: any,
  })
  fc.assert(
    fc.property(figures, given => {
      const found = read(given)
      if (found === undefined) return
      const { cpu_utilization: cpu, application_utilization: application = 0.02, rps_fractional: rps, eps } = found
      for (const value of [cpu!, application, rps!, eps!]) assert.ok(value >= 0 && value <= 1e9, `${value}`)
      assert.ok(cpu! <= 1 && (application >= 0.02 || eps! > 0) && rps! > 0 && eps! <= rps!)
      assert.ok(loadReport({ ...QUIET, ...given })!.text.length < 120)
    }),
  )
})

test('utilisation never falls while demand rises', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const demand = fc.double({ min: 1, max: 1e6, noNaN: true })
  fc.assert(
    fc.property(share, share, demand, demand, (loop, more, a, b) => {
      const utilisation = Math.max(loop, more)
      const told = [Math.min(a, b), Math.max(a, b)].map(each => {
        const found = read({ loop, utilisation, demand: each })
        return found?.['application_utilization'] ?? 0
      })
      assert.ok(told[0]! <= told[1]!, `${told}`)
    }),
  )
})
