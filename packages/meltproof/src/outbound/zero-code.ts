/** Limits for an app that did not ask for any, and one line that says so. Never throws. */
import { stderr } from 'node:process'
import { installLimits } from './install.ts'
import { type CallLimits, ZERO_CODE_LIMITS, LimitTable } from './limits.ts'

export function boundOutbound(warn: (text: string) => void): void {
  try {
    const tell = (): boolean => stderr.write(`meltproof/register: ${describe(ZERO_CODE_LIMITS)}\n`)
    installLimits(new LimitTable({}, ZERO_CODE_LIMITS), tell)
  } catch (error) {
    warn(`could not bound outbound calls; they run without limits. ${String(error)}`)
  }
}

function describe({ connectMs, firstByteMs }: CallLimits): string {
  return (
    `outbound calls of this process are bounded: ${seconds(connectMs)} to connect, ${seconds(firstByteMs)} for the head ` +
    "of the answer. Other limits: install() of 'meltproof/outbound'; none: MELTPROOF_OUTBOUND=off."
  )
}

function seconds(ms: number | false): string {
  return ms === false ? 'no limit' : `${ms / 1000} s`
}
