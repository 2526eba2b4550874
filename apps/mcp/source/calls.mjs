// Makes the main calls of a session, and prints one line for each.
import { openSession } from './client.mjs'

const { client, close } = await openSession()
const say = async call => console.log(JSON.stringify(await call.catch(error => `${error.code} ${error.message}`)))

await say(client.ping())
await say(client.listTools())
await say(client.callTool({ name: 'greet', arguments: { name: 'stranger' } }))
await say(client.callTool({ name: 'greet', arguments: {} }))
await say(client.callTool({ name: 'unknown' }))
await say(client.readResource({ uri: 'people://7' }))
await say(client.getPrompt({ name: 'summary', arguments: { of: 'Tide' } }))
await close()
await say(client.ping())
