/** A shop for journeys: later requests need values from earlier answers. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Shop {
  readonly origin: string
  /** Requests without the value that an earlier answer returned. */
  readonly strangers: string[]
  /** Users who paid. */
  readonly paid: string[]
  close(): void
}

export interface ShopOptions {
  /** For these users (by number) the login answers without a token. */
  readonly tokenless?: (user: number) => boolean
  readonly delayMs?: number
}

export async function startShop({ tokenless = () => false, delayMs = 0 }: ShopOptions = {}): Promise<Shop> {
  const strangers: string[] = []
  const paid: string[] = []
  const sessions = new Map<string, { readonly user: string; cart?: string }>()
  const server = http.createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { pathname, searchParams } = new URL(request.url!, 'http://shop')
    const answer = (status: number, headers: Record<string, string>, value: object): void => {
      setTimeout(() => {
        response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value))
      }, delayMs)
    }
    const session = sessions.get(/sid=(\S+)/.exec(request.headers.cookie ?? '')?.[1] ?? '')
    if (pathname === '/login') {
      const { user } = JSON.parse(body) as { user: string }
      const number = Number(/\d+/.exec(user)![0])
      if (tokenless(number)) return answer(200, {}, { session: {} })
      sessions.set(`s${number}`, { user })
      const headers = { 'Set-Cookie': `sid=s${number}; Path=/; HttpOnly` }
      return answer(200, headers, { session: { 'a/b': `to "ken" & ü ${number}` } })
    }
    if (session === undefined) {
      strangers.push(`${request.method} ${request.url}`)
      return answer(401, {}, {})
    }
    if (pathname === '/carts') {
      session.cart = `c${session.user}`
      const token = (JSON.parse(body) as { token: string }).token
      if (!token.startsWith('to "ken" & ü ')) strangers.push(token)
      return answer(201, { Location: session.cart }, {})
    }
    if (pathname === `/carts/${session.cart}/pay` && searchParams.get('token')?.startsWith('to "ken" & ü ')) {
      paid.push(session.user)
      return answer(200, {}, {})
    }
    strangers.push(`${request.method} ${request.url}`)
    return answer(404, {}, {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    strangers,
    paid,
    close: () => void server.close().closeAllConnections(),
  }
}
