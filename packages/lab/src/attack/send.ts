/** Runs the plans of an attack one after another, with a progress line, until they are done or stopped. */
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { runLoad } from '../load/run.ts'
import { liveLine, progressOn, repeating } from '../progress.ts'
import { onSignal } from '../signals.ts'
import { type AttackRun, offered } from '../report/attack-words.ts'

/** Interval of progress lines where output cannot be rewritten in place. */
const PLAIN_EVERY_MS = 5000

export interface Sent {
  readonly runs: readonly Pick<AttackRun, 'plan' | 'outcome'>[]
  /** Exit code of the signal that stopped the attack, or 0. The last run contains what was measured until then. */
  readonly exitCode: number
}

export async function send(plans: readonly LoadPlan[], quiet: boolean): Promise<Sent> {
  const abort = new AbortController()
  const noMore = onSignal(stop => {
    if (abort.signal.aborted) process.exit(stop.exitCode)
    abort.abort(stop.exitCode)
  })
  const progress = progressOn(process.stderr)
  const runs: { plan: LoadPlan; outcome: LoadOutcome }[] = []
  try {
    for (const plan of plans) {
      const tell = repeating(progress, process.stderr, PLAIN_EVERY_MS)
      const line = liveLine(offered(plan))
      const outcome = await runLoad(plan, {
        signal: abort.signal,
        onProgress: quiet ? undefined : seen => tell(line(seen), seen.elapsedMs),
      })
      runs.push({ plan, outcome })
      if (abort.signal.aborted) break
    }
  } finally {
    progress.clear()
    noMore()
  }
  return { runs, exitCode: abort.signal.aborted ? (abort.signal.reason as number) : 0 }
}
