/** One answer that the app delays on purpose. */
import { ended } from '../runner/asking.ts'
import type { Conversation } from './outcome.ts'

export const longPoll: Conversation<'long-poll'> = async ({ ask, waitMs }, { asker }) => {
  const started = Date.now()
  const body = ask.body === undefined ? undefined : asker.fill(ask.body)
  const answer = await ended(asker.open(ask, { agent: false }), body)
  const took = Date.now() - started
  if (took < waitMs * 0.9) throw new Error(`answered ${answer.status} after ${took} ms, not after ${waitMs}`)
  return `${answer.status}\n${answer.body}`
}
