/** Turns expectations and figures into verdicts, and says when no verdict is possible. Pure. */
import type { Form, Verdict } from '../report/result.ts'
import type { Expectation } from './scenario.ts'

export interface Circumstances {
  readonly form: Form
  readonly incomplete: boolean
  /** A sentence that says why speed-dependent figures may not be judged; undefined on a quiet machine. */
  readonly disturbed: string | undefined
}

export function judge<Measured>(
  expects: readonly Expectation<Measured>[],
  measured: Measured,
  { form, incomplete, disturbed }: Circumstances,
): Verdict[] {
  return expects.map(({ name, judge: decide, needsQuiet = true }) => {
    const judgement = decide(measured)
    const not = (why: string): Verdict => ({ name, verdict: 'not judged', measured: why })
    if (judgement === undefined) return not(incomplete ? 'the run ended before it was measured' : 'it was not measured')
    if (needsQuiet && form === 'brief') return not(`${judgement.measured}; the brief form is too short to judge`)
    if (needsQuiet && disturbed !== undefined) return not(`${judgement.measured}; ${disturbed}`)
    return { name, verdict: judgement.pass ? 'pass' : 'fail', measured: judgement.measured }
  })
}
