/** Allows our pages to run our own files, to connect to this service and to use the position. Nothing else. */
import type { RequestHandler } from 'express'

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    // The phone's page shows the shore in a frame, so that watching does not end the walk.
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
  'permissions-policy': 'geolocation=(self), screen-wake-lock=(self), camera=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

export const securityHeaders: RequestHandler = (request, response, next) => {
  for (const name in HEADERS) response.setHeader(name, HEADERS[name as keyof typeof HEADERS])
  // 30 days. Only if this service terminates TLS itself; otherwise the proxy sets this header.
  if ('encrypted' in request.socket) response.setHeader('strict-transport-security', 'max-age=2592000')
  next()
}
