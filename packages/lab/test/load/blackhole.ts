/**
 * A port that swallows every connection: listens with a backlog of nothing in a stopped process, the backlog filled, so
 * that Linux drops every further SYN. Nothing but 127.0.0.1 is involved.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Blackhole {
  readonly port: number
  close(): void
}

const CHILD = `const s = require('net').createServer(); s.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))`

export const blackhole = async (): Promise<Blackhole> => {
  const child = spawn(process.execPath, ['-e', CHILD], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [data] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(data.toString())
  child.kill('SIGSTOP')
  // A backlog of 1 holds two; what is beyond stays half open for ever.
  const fillers: Socket[] = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await new Promise(resolve => setTimeout(resolve, 200))
  return {
    port,
    close: () => {
      for (const socket of fillers) socket.destroy()
      child.kill('SIGKILL')
    },
  }
}
