// Makes the main calls, and prints one line for each with its result and status.
import { clientOf } from './service.mjs'

const client = clientOf()

const unary = (method, request) =>
  new Promise(resolve => {
    let trailer = ''
    const call = client[method](request, (error, answer) => {
      setImmediate(() => resolve(error ? `${error.code} ${error.details}` : `0 ${answer.words} ${trailer}`))
    })
    call.on('status', status => {
      trailer = status.metadata.get('x-stranger').join()
    })
  })

const streamed = call =>
  new Promise(resolve => {
    const words = []
    call.on('data', message => words.push(message.words))
    call.on('error', error => resolve(`${error.code} ${words}`))
    call.on('end', () => resolve(`0 ${words}`))
  })

console.log(await unary('hello', { name: 'stranger' }))
console.log(await unary('hello', { name: '' }))
console.log(await unary('score', { name: 'stranger' }))
console.log(await unary('hello', { name: 'x'.repeat(1_000_000) }))
console.log(await streamed(client.ticks({ ms: 5 })))
const echo = client.echo()
for (const words of ['a', 'b', 'c']) echo.write({ words })
echo.end()
console.log(await streamed(echo))
client.close()
