/** What a TLS connection is made with: built once, as reading certificates takes longer than a request. */
import { createSecureContext, type ConnectionOptions } from 'node:tls'
import type { Tls } from './plan.ts'

/** Throws what OpenSSL says of certificates or a key that it can not use. */
export const tlsOptions = ({ insecure, ca, cert, key }: Tls = {}): ConnectionOptions => ({
  secureContext: createSecureContext({ ca, cert, key }),
  rejectUnauthorized: insecure !== true,
  ALPNProtocols: ['http/1.1'],
})

/** TLS takes names only, not addresses, as the server's name. */
export const serverName = (name: string): string => (/^[\d.]+$|:/.test(name) ? '' : name)
