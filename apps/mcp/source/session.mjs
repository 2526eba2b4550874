// The event stream of a session stays open: a message that the server sends after 14 s of silence arrives.
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { openSession } from './client.mjs'

const PATIENCE_MS = 30_000

const { client, close } = await openSession()
const heard = new Promise((resolve, reject) => {
  const timer = setTimeout(() => reject(new Error(`nothing was heard in ${PATIENCE_MS} ms`)), PATIENCE_MS)
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    clearTimeout(timer)
    resolve(params.data)
  })
})
console.log(JSON.stringify(await client.callTool({ name: 'announce', arguments: { words: 'after a silence' } })))
console.log(await heard)
console.log(JSON.stringify(await client.callTool({ name: 'greet', arguments: { name: 'again' } })))
await close()
