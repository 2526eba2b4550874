/** One connection before the load: what is plainly wrong is said in one sentence instead of ten thousand failures. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Tls } from '../load/plan.ts'
import { resolveAddress, type Target } from '../load/target.ts'
import { serverName, tlsOptions } from '../load/tls.ts'
import { UserError } from '../user-error.ts'

export async function preflight(target: Target, tls: Tls | undefined, timeoutMs: number): Promise<void> {
  const where = `${target.hostname}:${target.port}`
  const address = await resolveAddress(target, timeoutMs)
  if (address === undefined) throw new UserError(`The name ${target.hostname} has no address: is it spelt right?`)
  await new Promise<void>((resolve, reject) => {
    let connected = false
    const end = (problem?: string): void => {
      clearTimeout(timer)
      socket.destroy()
      if (problem === undefined) resolve()
      else reject(new UserError(problem))
    }
    const socket = target.secure
      ? connectTls({
          host: address,
          port: target.port,
          servername: serverName(target.hostname),
          ...tlsOptions(tls),
        }).on('secureConnect', () => end())
      : connect({ host: address, port: target.port }).on('connect', () => end())
    const timer = setTimeout(() => end(`${where} does not answer: no connection within ${timeoutMs} ms.`), timeoutMs)
    // Registered last: over TLS this one is not yet the end.
    if (target.secure) socket.on('connect', () => (connected = true))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') end(`${where} refuses connections: is the server running?`)
      else if (connected) end(`${where} does not speak TLS as asked: ${sentence(error.message.trim())}`)
      else end(`${where} can not be reached: ${sentence(error.message)}`)
    })
  })
}

export const sentence = (text: string): string => `${text.replace(/\.$/, '')}.`
