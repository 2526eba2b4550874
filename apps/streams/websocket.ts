/** A conversation over a WebSocket, with silences. Uses Node's own client. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Step } from '../runner/definition.ts'
import { type Conversation, GRACE_MS } from './outcome.ts'

export const websocket: Conversation<'websocket'> = async ({ path, steps, pong }, { origin, asker }) => {
  const socket = new WebSocket(new URL(asker.fill(path), origin.replace('http', 'ws')))
  const inbox: string[] = []
  let wake = (): void => {}
  let closed: string | undefined
  socket.addEventListener('message', ({ data }) => {
    if (data === pong?.ping) return socket.send(pong!.pong)
    inbox.push(String(data))
    wake()
  })
  socket.addEventListener('close', ({ code }) => {
    closed ??= `it was closed with ${code}`
    wake()
  })
  socket.addEventListener('error', () => {
    closed ??= 'it could not be opened, or broke'
    wake()
  })
  const change = (): Promise<void> =>
    new Promise(resolve => {
      const timer = setTimeout(resolve, GRACE_MS)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const said: string[] = []
  const take = async (step: Step): Promise<void> => {
    if ('send' in step) return socket.send(step.send)
    if ('pauseMs' in step) return void (await sleep(step.pauseMs))
    const until = Date.now() + GRACE_MS
    for (;;) {
      const message = inbox.shift()
      if (message !== undefined && step.expect.test(message)) return void said.push(message)
      if (message !== undefined) continue
      if (closed !== undefined || Date.now() > until) {
        throw new Error(`no message like ${step.expect} after ${said.length} messages: ${closed ?? 'nothing came'}`)
      }
      await change()
    }
  }
  try {
    while (socket.readyState === WebSocket.CONNECTING && closed === undefined) {
      await new Promise(resolve => {
        for (const event of ['open', 'close', 'error']) socket.addEventListener(event, resolve, { once: true })
      })
    }
    for (const [at, step] of steps.entries()) {
      if (closed !== undefined && 'send' in step) throw new Error(`before step ${at + 1}: ${closed}`)
      await take(step)
    }
  } finally {
    socket.close()
  }
  return said.join('\n')
}
