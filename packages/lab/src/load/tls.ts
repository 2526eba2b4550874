/** What a TLS connection is made with: built once, as reading certificates takes longer than a request. */
import { connect, createSecureContext, type ConnectionOptions } from 'node:tls'
import type { LoadPlan } from './plan.ts'

/** Throws what OpenSSL says of certificates or a key that it can not use. */
export const tlsOptions = ({ tls = {}, http2 }: Pick<LoadPlan, 'tls' | 'http2'>): ConnectionOptions => ({
  secureContext: createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key }),
  rejectUnauthorized: tls.insecure !== true,
  ALPNProtocols: [http2 === undefined ? 'http/1.1' : 'h2'],
})

export const trustHint =
  ': --cacert FILE names the authority that signed its certificate (or that itself), --insecure trusts any'

/** Empty for errors of another kind than that a certificate is not trusted. */
export const untrustedHint = (code: string): string =>
  /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/.test(code) ? trustHint : ''

/** Whether what listens there takes a handshake: asked once nothing else has been understood. */
export function speaksTls(host: string, port: number, timeoutMs = 1000): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: timeoutMs }, () => end(true))
    const end = (does: boolean): void => {
      socket.destroy()
      resolve(does)
    }
    socket
      .once('error', () => end(false))
      .once('timeout', () => end(false))
      .once('close', () => end(false))
  })
}

/** TLS takes names only, not addresses, as the server's name. */
export const serverName = (name: string): string => (/^[\d.]+$|:/.test(name) ? '' : name)
