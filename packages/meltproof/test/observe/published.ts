/** Publishes calls as an outbound client would. */
import { setImmediate } from 'node:timers/promises'
import { calls } from '../../src/channels.ts'
import { now } from '../../src/clock.ts'
import type { OutboundRecord } from '../../src/record.ts'

/** Publishes a call that has just ended and took `tookMs`. Resolves when it has been counted. */
export async function publishCall(tookMs: number, more: Partial<OutboundRecord> = {}): Promise<void> {
  const endedAtMs = now()
  const startedAtMs = endedAtMs - tookMs
  calls.publish({
    kind: 'http',
    peer: 'http://peer.example:8080',
    operation: 'GET',
    route: '/',
    status: 200,
    outcome: 'answered',
    errorCode: undefined,
    phase: undefined,
    startedAtMs,
    queuedMs: 0,
    connectMs: 0,
    sentAtMs: startedAtMs,
    firstByteAtMs: endedAtMs,
    endedAtMs,
    serverTiming: undefined,
    scope: undefined,
    ...more,
  })
  await setImmediate()
}
