/** An endless stall, with a watcher that reports it sooner than usual. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Watching } from '../../../src/culprit/watching.ts'

new Watching(100, () => undefined, [200, 400, 600])
await sleep(1500)
function spin(): void {
  for (;;) performance.now() // line: spin
}
spin()
