// Sends one message of 4 MB to a second client, and then opens the document of that size from a third.
import { open, until } from './client.mjs'

const words = 'words '.repeat(700_000)
const one = await open('large')
const two = await open('large')
one.text.insert(0, words)
console.log((await until(two.text, all => all.length === words.length)).length)
const three = await open('large')
console.log(three.text.toString() === words)
for (const { provider } of [one, two, three]) provider.destroy()
process.exit(0)
