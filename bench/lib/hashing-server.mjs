/** A server on PORT that computes the given number of hashes for each request; its CPU time is proportional to it. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const hashes = Number(process.argv[2])
const block = Buffer.alloc(1024, 'x')

createServer((_, response) => {
  let digest = ''
  for (let done = 0; done < hashes; done++) digest = createHash('sha256').update(block).digest('hex')
  response.end(digest)
}).listen(Number(process.env.PORT), '127.0.0.1')
