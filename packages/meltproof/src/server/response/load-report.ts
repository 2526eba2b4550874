/**
 * What an instance tells Envoy and gRPC of its load: an ORCA report (xds.data.orca.v3.OrcaLoadReport). Pure. They weigh it by
 *
 *     rps_fractional / (utilisation + eps / rps_fractional * error_utilization_penalty)
 *
 * where utilisation is `application_utilization`.
 */
import type { LoadFigures } from '../../process-gate.ts'

/** Header fields, or trailers. Envoy takes a report with both for none. */
export const FIELD = 'endpoint-load-metrics'
/** That of gRPC (A51). */
export const BINARY_FIELD = 'endpoint-load-metrics-bin'

export interface LoadReport {
  /** Value of {@link FIELD}. */
  readonly text: string
  /** Value of {@link BINARY_FIELD}: the message in base64. */
  readonly binary: string
}

/** Below this what a process does besides, such as collecting garbage, would decide who gets the requests. */
const LEAST_UTILISATION = 0.02
/** What no server reaches. */
const MOST = 1e9

/** Undefined when there is nothing to say that a balancer could use. */
export function loadReport(figures: LoadFigures): LoadReport | undefined {
  const loop = within(figures.loop, 1)
  const utilisation = within(figures.utilisation, 1)
  const rps = within(figures.offeredPerS, MOST)
  // Whoever fails does so quickly, and would look the less loaded the more it fails.
  const eps = Math.min(within(figures.shedPerS, MOST) + within(figures.failedPerS, MOST), rps)
  if (rps === 0 || (utilisation < LEAST_UTILISATION && eps === 0)) return undefined
  const fields: readonly Field[] = [
    { name: 'cpu_utilization', tag: 0x09, value: loop },
    // Utilisation ends at 1, and sheds are quick: without demand an instance would weigh the more, the more it sheds.
    { name: 'application_utilization', tag: 0x49, value: utilisation * Math.max(1, within(figures.demand, MOST)) },
    { name: 'rps_fractional', tag: 0x31, value: rps },
    { name: 'eps', tag: 0x39, value: eps },
  ]
  return { text: `TEXT ${fields.map(({ name, value }) => `${name}:${rounded(value)}`)}`, binary: message(fields) }
}

interface Field {
  readonly name: string
  /** Of a double, in protobuf: its number in the message times 8, and 1. */
  readonly tag: number
  readonly value: number
}

function within(value: number, most: number): number {
  return value > 0 ? Math.min(value, most) : 0
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

/** Always a multiple of three bytes, so that nobody has to agree on how base64 is padded. */
function message(fields: readonly Field[]): string {
  const bytes = Buffer.alloc(9 * fields.length)
  for (const [index, { tag, value }] of fields.entries()) {
    bytes[9 * index] = tag
    bytes.writeDoubleLE(value, 9 * index + 1)
  }
  return bytes.toString('base64')
}
