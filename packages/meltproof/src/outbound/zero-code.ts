/** Wide limits for an app that did not ask for any, and one line that says so. Never throws. */
import { stderr } from 'node:process'
import { installLimits } from './install.ts'
import { type CallLimits, GENEROUS_LIMITS, LimitTable } from './limits.ts'

export function boundOutbound(warn: (text: string) => void): void {
  try {
    const tell = (): boolean => stderr.write(`meltproof/register: ${describe(GENEROUS_LIMITS)}\n`)
    installLimits(new LimitTable({}, GENEROUS_LIMITS), tell)
  } catch (error) {
    warn(`could not bound outbound calls; they run without limits. ${String(error)}`)
  }
}

function describe(limits: CallLimits): string {
  return (
    `outbound calls of this process are bounded: ${seconds(limits.connectMs)} for a connection, ` +
    `${seconds(limits.firstByteMs)} for the first byte, ${seconds(limits.idleMs)} between two chunks, ` +
    `${seconds(limits.totalMs)} in total (event streams excepted), ${limits.maxInFlight} in flight to one origin. ` +
    "Other limits: install() of 'meltproof/outbound'; none: MELTPROOF_OUTBOUND=off."
  )
}

function seconds(ms: number | false): string {
  return ms === false ? 'no limit' : `${ms / 1000} s`
}
