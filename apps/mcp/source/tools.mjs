// What the server offers: tools, resources and a prompt.
import { pbkdf2Sync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'

const text = words => ({ content: [{ type: 'text', text: words }] })

export function makeServer() {
  const server = new McpServer({ name: 'stranger', version: '1.0.0' }, { capabilities: { logging: {} } })
  server.registerTool('greet', { description: 'Greets', inputSchema: { name: z.string() } }, ({ name }) =>
    text(`hello ${name}`),
  )
  server.registerTool('score', { description: 'A score', inputSchema: { of: z.string() } }, ({ of }) =>
    text(pbkdf2Sync(of, 'salt', 40_000, 32, 'sha256').toString('hex')),
  )
  server.registerTool('size', { description: 'Of a text', inputSchema: { text: z.string() } }, ({ text: { length } }) =>
    text(`${length}`),
  )
  server.registerTool('broken', { description: 'Fails' }, () => {
    throw new Error('broken on purpose')
  })
  server.registerTool('later', { description: 'Takes 15 s' }, () => sleep(15_000, text('waited')))
  server.registerTool('steps', { description: 'Reports its progress' }, async ({ _meta, sendNotification }) => {
    for (let progress = 1; progress <= 2; progress++) {
      const params = { progressToken: _meta?.progressToken, progress, total: 2 }
      await sendNotification({ method: 'notifications/progress', params })
      await sleep(12_000)
    }
    return text('two steps')
  })
  server.registerTool('announce', { description: 'Logs in 14 s', inputSchema: { words: z.string() } }, ({ words }) => {
    setTimeout(() => void server.sendLoggingMessage({ level: 'info', data: words }), 14_000)
    return text('soon')
  })
  server.registerResource(
    'person',
    new ResourceTemplate('people://{id}', {
      list: () => ({ resources: [1, 2, 3].map(id => ({ uri: `people://${id}`, name: `Person ${id}` })) }),
    }),
    { description: 'A person' },
    ({ href }, { id }) => {
      if (id === 'nobody') throw new Error('there is no such person')
      return { contents: [{ uri: href, text: `Person ${id}` }] }
    },
  )
  server.registerPrompt('summary', { description: 'Sums up', argsSchema: { of: z.string() } }, ({ of }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Sum up ${of}` } }],
  }))
  return server
}
