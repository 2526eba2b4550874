/** The address at which a phone joins, and its QR code. */
import { type Request, type Router, Router as router } from 'express'
import encodeQR from 'qr'
import { isLocalName } from '../lan.ts'
import { Refusal } from '../refusal.ts'

/** A host name has at most 253 characters (RFC 1035); the port is in addition. */
const LONGEST_HOST = 260

/**
 * The address at which this page was requested, if other devices can use it too; otherwise the address of this computer
 * in its network. Undefined if no phone can reach the service.
 */
export function joinUrl(request: Request, lan: string | undefined): string | undefined {
  const host = request.host ?? ''
  if (!isLocalName(host))
    return host === '' || host.length > LONGEST_HOST ? undefined : `${request.protocol}://${host}/`
  return lan === undefined ? undefined : `${request.protocol}://${lan}:${request.socket.localPort}/`
}

export function joinRoutes(lan: string | undefined): Router {
  return router().get('/api/join.svg', (request, response) => {
    const url = joinUrl(request, lan)
    if (url === undefined) throw new Refusal(404, 'no-phones', 'Phones can not reach this address')
    // Four modules of white around it are part of a QR code (ISO/IEC 18004).
    response.type('svg').send(encodeQR(url, 'svg', { border: 4 }))
  })
}
