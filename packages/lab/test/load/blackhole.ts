/**
 * A port that swallows every connection: a stopped process listens on it with a full backlog, so Linux drops every
 * further SYN. Only 127.0.0.1 is involved.
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
  // A backlog of 1 holds two connections. Further ones stay half open for ever.
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
