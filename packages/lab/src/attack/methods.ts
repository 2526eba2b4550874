/** Methods of requests, as a user types them. Pure. */
import { METHODS } from 'node:http'
import { UserError } from '../user-error.ts'

/** Most often meant. */
const USUAL = 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS'

/** In capitals. @throws UserError for one that HTTP servers of Node do not know */
export function knownMethod(text: string): string {
  const method = text.toUpperCase()
  if (method === 'CONNECT') throw new UserError('the method CONNECT opens a tunnel and is not supported.')
  if (!METHODS.includes(method)) throw new UserError(`expected an HTTP method such as ${USUAL}, got "${text}".`)
  return method
}
