/** The options of TLS connections, built once, because reading certificates takes longer than a request. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createSecureContext, type ConnectionOptions } from 'node:tls'
import type { LoadPlan } from './plan.ts'

/** Throws OpenSSL's error for a certificate or key that it cannot use. */
export const tlsOptions = ({ tls = {}, http2 }: Pick<LoadPlan, 'tls' | 'http2'>): ConnectionOptions => ({
  secureContext: createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key }),
  rejectUnauthorized: tls.insecure !== true,
  ALPNProtocols: [http2 === undefined ? 'http/1.1' : 'h2'],
})

export const trustHint =
  ': --cacert FILE names the authority that signed its certificate, or the certificate itself; --insecure trusts any certificate'

/** Empty for errors that are not about an untrusted certificate. */
export const untrustedHint = (code: string): string =>
  /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/.test(code) ? trustHint : ''

/** True if the socket emits `event` in time, and no error before it. Destroys the socket. */
export const reaches = (socket: Socket, event: 'connect' | 'secureConnect', timeoutMs: number): Promise<boolean> =>
  once(socket, event, { signal: AbortSignal.timeout(Math.ceil(timeoutMs)) })
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy())

/** True if the server accepts a TLS handshake; tried if the server gives no HTTP answer. */
export const speaksTls = (host: string, port: number): Promise<boolean> =>
  reaches(connect({ host, port, rejectUnauthorized: false }), 'secureConnect', 1000)
