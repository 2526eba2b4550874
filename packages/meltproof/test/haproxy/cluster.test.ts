/** MELTPROOF_HAPROXY_AGENT in a cluster: HAProxy sees its workers as one server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { it } from 'node:test'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { get, start } from '../register/child.ts'
import { eventually } from '../server/harness.ts'

const WORKERS = 3
const LIMIT = 10

async function ask(port: number): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1' })
  let heard = ''
  socket.on('data', data => {
    heard += data
  })
  await once(socket, 'close')
  return heard
}

const isTold = (port: number, what: (line: string) => boolean): Promise<boolean> => ask(port).then(what, () => false)

it('one worker owns the agent port and reports the sum, and another one takes over when it dies', async () => {
  const agent = await freePort()
  const child = start('workers.mjs', {
    env: {
      WORKERS: String(WORKERS),
      MELTPROOF_LIMIT: String(LIMIT),
      MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${agent}`,
    },
  })
  const port = await child.port()
  for (let i = 1; i < WORKERS; i++) await child.port()
  const told = `up 100% maxconn:${WORKERS * LIMIT + 4}\n`
  const hanging = new Set<net.Socket>()
  // All permits are taken, and waiting requests are shed after a while.
  const hangs = setInterval(() => {
    for (let i = 0; i < 2 * WORKERS; i++) {
      const socket = net.connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
      socket.write('GET /hang HTTP/1.1\r\nhost: x\r\n\r\n')
      hanging.add(socket)
    }
  }, 50)
  try {
    await eventually('it is told', () => isTold(agent, line => line === told))
  } finally {
    clearInterval(hangs)
    for (const socket of hanging) socket.destroy()
  }
  const pids = new Set<string>()
  while (pids.size < WORKERS) pids.add(await get(port))
  for (const pid of [...pids].slice(0, 2)) child.process.send(Number(pid))
  for (let i = 0; i < 2; i++) await child.port()
  await eventually('it is told again', () => isTold(agent, line => line.startsWith('up 100%')))
  child.process.kill('SIGKILL')
  assert.ok(!(await child.ended).stderr.includes('agent checks'), 'no worker warns of a port that another one owns')
})
