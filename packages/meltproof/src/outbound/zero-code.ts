/** Limits for an app that has not installed any itself, and one line that announces them. */
import { error } from 'node:console'
import { printsForCluster } from '../loaded.ts'
import { installLimits, isInstalled } from './install.ts'
import { type CallLimits, ZERO_CODE_LIMITS, LimitTable, type OutboundLimits } from './limits.ts'

/** @param given the operator's limits */
export function boundOutbound(given: OutboundLimits): void {
  if (isInstalled()) return
  const limits = new LimitTable(given, ZERO_CODE_LIMITS)
  installLimits(limits, () => {
    // Unlike process.stderr.write(), console.error() survives a pipe whose reader has left.
    if (printsForCluster()) error(`meltproof/register: ${describe(limits.everywhere)}`)
  })
}

function describe({ connectMs, firstByteMs, totalMs, maxInFlight }: CallLimits): string {
  const more = [
    totalMs === false ? '' : `, ${seconds(totalMs)} in total`,
    maxInFlight === false ? '' : `, ${maxInFlight} in flight to each origin`,
  ]
  return (
    `outbound calls of this process are limited: ${seconds(connectMs)} to connect, ${seconds(firstByteMs)} to the head ` +
    `of the answer${more.join('')}. To change the limits, call install() of 'meltproof/outbound'.`
  )
}

function seconds(ms: number | false): string {
  return ms === false ? 'no limit' : `${ms / 1000} s`
}
