/** Opens one connection before the load, so that a mistake gives one sentence instead of ten thousand failures. */
import { connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { explain } from '../load/failure.ts'
import type { LoadPlan } from '../load/plan.ts'
import { dial, resolveAddress, type Target } from '../load/target.ts'
import { tlsOptions, untrustedHint } from '../load/tls.ts'
import { UserError } from '../user-error.ts'

export async function preflight(target: Target, plan: LoadPlan): Promise<void> {
  const { connectTimeoutMs: timeoutMs, http2 } = plan
  const { secure, hostname, port } = target
  const where = `${hostname}:${port}`
  const address = await resolveAddress(target, timeoutMs)
  if (address === undefined) throw new UserError(`The name ${hostname} has no address: is it spelled correctly?`)
  const noHttp2 = `${where} does not speak HTTP/2${secure ? ' (it offers no h2 in TLS)' : ' without TLS (h2c)'}: leave out --http2.`
  await new Promise<void>((resolve, reject) => {
    let reached = false
    let asked = false
    const end = (problem?: string): void => {
      clearTimeout(timer)
      socket.destroy()
      if (problem === undefined) resolve()
      else reject(new UserError(problem))
    }
    const failed = (error: NodeJS.ErrnoException): void => {
      const { code = '' } = error
      if (code === 'ECONNREFUSED') end(`${where} refuses connections: is the server running?`)
      else if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') end(noHttp2)
      else if (asked && !code.startsWith('ERR_SSL')) end(noHttp2)
      else if (reached && secure) {
        end(
          `${where} cannot be reached with these TLS options: ${sentence(explain(error).trim() + untrustedHint(code))}`,
        )
      } else end(`${where} cannot be reached: ${sentence(explain(error))}`)
    }
    const connected = (): void => {
      if (http2 === undefined || (secure && (socket as TLSSocket).alpnProtocol !== 'h2')) {
        end(http2 && noHttp2)
        return
      }
      asked = true
      // An HTTP/2 server sends its settings first.
      connectHttp2(`http://${where}`, { createConnection: () => socket })
        .on('remoteSettings', () => end())
        .on('error', failed)
        .on('close', () => end(noHttp2))
    }
    const peer = { index: 0, address, port, tlsName: secure ? hostname : undefined }
    const socket = dial(peer, secure ? tlsOptions(plan) : {}, connected)
    const timer = setTimeout(() => {
      end(reached && http2 !== undefined ? noHttp2 : `${where} does not answer: no connection within ${timeoutMs} ms.`)
    }, timeoutMs)
    // With TLS or HTTP/2, a TCP connection is not enough yet.
    socket.on('connect', () => {
      reached = true
    })
    socket.on('error', failed)
  })
}

export const sentence = (text: string): string => `${text.replace(/\.$/, '')}.`
