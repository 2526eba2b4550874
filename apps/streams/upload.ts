/** A body that a slow client sends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { answerOf } from '../runner/asking.ts'
import type { Conversation } from './outcome.ts'

const PIECES = 40

export const upload: Conversation<'upload'> = async ({ ask, body: make, overMs }, { asker }) => {
  const body = make()
  const request = asker.open(ask, { agent: false })
  request.setHeader('Content-Length', body.length)
  const started = Date.now()
  const answer = answerOf(request)
  let over = false
  const stop = (): void => {
    over = true
  }
  answer.then(stop, stop)
  const size = Math.ceil(body.length / PIECES)
  let at = 0
  for (; at + size < body.length && !over; at += size) {
    request.write(body.subarray(at, at + size))
    await sleep(overMs / PIECES)
  }
  if (!over) request.end(body.subarray(at))
  const { status, body: text } = await answer
  const took = Date.now() - started
  if (took < overMs * 0.8) throw new Error(`answered ${status} after ${took} ms, before the body was sent: ${text}`)
  return `${status}\n${text}`
}
