/** What a TLS connection is made with: built once, as reading certificates takes longer than a request. */
import { createSecureContext, type ConnectionOptions } from 'node:tls'
import type { LoadPlan } from './plan.ts'

/** Throws what OpenSSL says of certificates or a key that it can not use. */
export const tlsOptions = ({ tls = {}, http2 }: Pick<LoadPlan, 'tls' | 'http2'>): ConnectionOptions => ({
  secureContext: createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key }),
  rejectUnauthorized: tls.insecure !== true,
  ALPNProtocols: [http2 === undefined ? 'http/1.1' : 'h2'],
})

/** TLS takes names only, not addresses, as the server's name. */
export const serverName = (name: string): string => (/^[\d.]+$|:/.test(name) ? '' : name)
