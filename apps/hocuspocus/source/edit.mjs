// Two clients edit a document over WebSockets. Prints a line for each step, and the text that HTTP then returns.
import { open, until } from './client.mjs'

console.log(
  await open('private', 'wrong').then(
    () => 'opened',
    error => `refused: ${error.message}`,
  ),
)
const one = await open('shared')
const two = await open('shared')
one.text.insert(0, 'one')
console.log(await until(two.text, words => words === 'one'))
two.text.insert(3, ' and two')
console.log(await until(one.text, words => words.includes('two')))
one.text.delete(0, 4)
console.log(await until(two.text, words => words.startsWith('and')))
console.log(await (await fetch(new URL('/documents/shared', process.env.ORIGIN))).text())
one.provider.destroy()
two.provider.destroy()
process.exit(0)
