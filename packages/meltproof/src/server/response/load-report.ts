/**
 * The load report of an instance for Envoy and gRPC: an ORCA report (xds.data.orca.v3.OrcaLoadReport). Pure. Both
 * compute the weight of the instance as
 *
 *     rps_fractional / (utilisation + eps / rps_fractional * error_utilization_penalty)
 *
 * where utilisation is `application_utilization`.
 */
import type { LoadFigures } from '../../process-gate.ts'

/** The field name for Envoy, as header field or trailer. Envoy ignores a report that is sent in both formats. */
export const FIELD = 'endpoint-load-metrics'
/** The field name for gRPC (A51). */
export const BINARY_FIELD = 'endpoint-load-metrics-bin'

export interface LoadReport {
  readonly text: string
  readonly binary: string
}

/** Below this utilisation, and without errors, no report is sent: garbage collection, for one, would decide weights. */
const LEAST_UTILISATION = 0.02
/** Maximum of each figure, which no server reaches. */
const MOST = 1e9

/** Returns undefined if there is nothing that a balancer could use. */
export function loadReport(figures: LoadFigures): LoadReport | undefined {
  const loop = within(figures.loop, 1)
  const utilisation = within(figures.utilisation, 1)
  const rps = within(figures.offeredPerS, MOST)
  // Failures are fast, so a failing instance would look idle.
  const eps = Math.min(within(figures.shedPerS, MOST) + within(figures.failedPerS, MOST), rps)
  if (rps === 0 || (utilisation < LEAST_UTILISATION && eps === 0)) return undefined
  const fields: readonly Field[] = [
    { name: 'cpu_utilization', tag: 0x09, value: loop },
    // Utilisation is at most 1, and sheds are fast: without demand an instance that sheds more would get more weight.
    { name: 'application_utilization', tag: 0x49, value: utilisation * Math.max(1, within(figures.demand, MOST)) },
    { name: 'rps_fractional', tag: 0x31, value: rps },
    { name: 'eps', tag: 0x39, value: eps },
  ]
  const text = `TEXT ${fields.map(({ name, value }) => `${name}:${Number(value.toPrecision(4))}`)}`
  return { text, binary: message(fields) }
}

interface Field {
  readonly name: string
  /** Protobuf tag of a double: its field number times 8, plus 1. */
  readonly tag: number
  readonly value: number
}

function within(value: number, most: number): number {
  return value > 0 ? Math.min(value, most) : 0
}

/** Every field has nine bytes, a multiple of three, so the base64 text needs no padding. */
function message(fields: readonly Field[]): string {
  const bytes = Buffer.alloc(9 * fields.length)
  for (const [index, { tag, value }] of fields.entries()) {
    bytes[9 * index] = tag
    bytes.writeDoubleLE(value, 9 * index + 1)
  }
  return bytes.toString('base64')
}
