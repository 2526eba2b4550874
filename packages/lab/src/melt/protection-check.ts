/** Checks whether meltproof protects a command's server: a program that is not Node would be measured bare twice. */
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context, RunningApp } from '../experiment/scenario.ts'
import { privateFolder, temporaryError } from '../private-folder.ts'
import { isOldNode } from '../processes/node-version.ts'
import { UserError } from '../user-error.ts'

/** meltproof reports four times a second, and the app has already answered a request. */
const WAIT_MS = 5000
const LOOK_MS = 25

type CheckContext = Pick<Context, 'signal' | 'line' | 'doubt'>

export interface ProtectionCheck {
  readonly env: Readonly<Record<string, string>>
  /** @throws UserError if none of its servers is protected */
  run(app: Pick<RunningApp, 'name' | 'node' | 'ended' | 'check'>, context: CheckContext): Promise<void>
  close(): void
}

export async function startProtectionCheck(): Promise<ProtectionCheck> {
  const folder = privateFolder('watch')
  const socketPath = path.join(folder, 'watch.sock')
  const connections = new Set<net.Socket>()
  /** A process that loads meltproof/register has connected, so it is Node. */
  let isNode = false
  let isProtected = false
  const server = net.createServer(connection => {
    isNode = true
    connections.add(connection)
    // Each line is a number of guards.
    connection.setEncoding('utf8').on('data', text => {
      isProtected ||= /[1-9]/.test(String(text))
    })
    connection.on('error', () => connection.destroy())
    connection.on('close', () => connections.delete(connection))
  })
  server.listen(socketPath)
  await once(server, 'listening').catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw temporaryError(error)
  })
  return {
    env: { MELTPROOF_WATCH: socketPath },
    async run(app, { signal, line, doubt }) {
      for (const until = Date.now() + WAIT_MS; !isProtected && Date.now() < until && app.ended() === undefined; ) {
        await sleep(LOOK_MS, undefined, { signal })
      }
      if (isProtected && app.node !== undefined && isOldNode(app.node)) {
        const what = `${app.name} runs on Node ${app.node}: meltproof needs 22.12 or later to protect it completely`
        line(`warning: ${what}`, 'fair')
        doubt(what)
      }
      if (isProtected) return
      app.check('before it was measured')
      throw new UserError(
        isNode
          ? `${app.name} runs Node, but meltproof protects no server in it: what listens is not an HTTP server of Node, or ` +
              'MELTPROOF is off; give the command that starts the server itself'
          : `${app.name} is not a Node program or drops NODE_OPTIONS, so meltproof cannot protect it; give a command that starts ` +
              'Node 22.12 or later and keeps NODE_OPTIONS, or measure any server with meltlab attack',
      )
    },
    close() {
      server.close()
      for (const connection of connections) connection.destroy()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
