/**
 * Whether meltproof came to protect a server of a command that was started with it. NODE_OPTIONS reach nothing but Node:
 * what is another program would be measured bare twice, and nothing would say so.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context, RunningApp } from '../experiment/scenario.ts'
import { isOldNode } from '../processes/node-version.ts'
import { UserError } from '../user-error.ts'
import { listenForReadings } from '../watch/readings-socket.ts'

/** It tells four times a second, and has answered a request already. */
const WAIT_MS = 5000
const LOOK_MS = 25

type Heeded = Pick<Context, 'signal' | 'line' | 'doubt'>

export interface Hearing {
  /** For the command's environment. */
  readonly env: Readonly<Record<string, string>>
  /** @throws UserError when no server of it is protected */
  protection(app: Pick<RunningApp, 'name' | 'node' | 'ended' | 'check'>, context: Heeded): Promise<void>
  close(): void
}

export async function listenForProtection(): Promise<Hearing> {
  let isProtected = false
  const listener = await listenForReadings(({ guards }) => {
    isProtected ||= guards > 0
  })
  return {
    env: { MELTPROOF_WATCH: listener.path },
    async protection(app, { signal, line, doubt }) {
      for (const until = Date.now() + WAIT_MS; !isProtected && Date.now() < until && app.ended() === undefined; ) {
        await sleep(LOOK_MS, undefined, { signal })
      }
      if (isProtected && app.node !== undefined && isOldNode(app.node)) {
        const what = `${app.name} runs on Node ${app.node}: meltproof needs 22.12 or newer to protect it in full`
        line(`warning: ${what}`, 'fair')
        doubt(what)
      }
      if (isProtected) return
      app.check('before it was measured')
      throw new UserError(
        listener.heard
          ? `${app.name} runs Node, but meltproof protects no server in it: what listens is no HTTP server of Node, or ` +
              'MELTPROOF is off; give the command that starts the server itself'
          : `${app.name} is no Node program, so meltproof can not protect it; give a command that starts ` +
              'Node 22.12 or newer and keeps NODE_OPTIONS, or measure any server with meltlab attack',
      )
    },
    close: () => listener.close(),
  }
}
