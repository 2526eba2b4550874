// Two clients have a document open. After a long silence, changes still arrive, and the presence of a user is known.
import { setTimeout as sleep } from 'node:timers/promises'
import { open, until } from './client.mjs'

const SILENCE_MS = 14_000

const one = await open('together')
const two = await open('together')
let lost = 0
for (const { provider } of [one, two]) provider.on('disconnect', () => lost++)
one.provider.setAwarenessField('user', 'one')
one.text.insert(0, 'before')
console.log(await until(two.text, words => words === 'before'))
await sleep(SILENCE_MS)
two.text.insert(6, ', after')
console.log(await until(one.text, words => words === 'before, after'))
console.log([...two.provider.awareness.getStates().values()].flatMap(({ user }) => user ?? []).join(), `lost ${lost}`)
one.provider.destroy()
two.provider.destroy()
process.exit(0)
