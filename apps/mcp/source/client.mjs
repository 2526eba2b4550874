// Opens a session on the server at ORIGIN with the SDK's own client.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export async function openSession() {
  const client = new Client({ name: 'stranger', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL('/sessions', process.env.ORIGIN))
  await client.connect(transport)
  const close = async () => {
    await transport.terminateSession()
    await client.close()
  }
  return { client, close }
}
