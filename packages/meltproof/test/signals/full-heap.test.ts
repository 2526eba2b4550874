/** A server whose cache permanently fills most of the heap, protected and unprotected. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { promisify } from 'node:util'

const SERVER = `
  import http from 'node:http'
  import { protect } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)}
  import { getHeapStatistics } from 'node:v8'
  const cache = []
  // Few large arrays are quick to mark: V8 ends a process that mostly collects garbage near the limit.
  while (getHeapStatistics().used_heap_size < 448 * 2 ** 20) cache.push(new Array(1_000_000).fill(cache.length))
  const server = http.createServer((_, response) => {
    const garbage = Array.from({ length: 2000 }, (_, n) => ({ n }))
    setTimeout(() => response.end(String(cache.length + garbage.length)), 20)
  })
  if (process.argv[1] === 'protected') protect(server)
  server.listen(0, '127.0.0.1', async () => {
    gc()
    await new Promise(resolve => setTimeout(resolve, 100))
    const url = 'http://127.0.0.1:' + server.address().port
    const statuses = {}
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(Array.from({ length: 5 }, () => fetch(url)))
      for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
    }
    console.log(JSON.stringify(statuses))
    process.exit()
  })`

it('is answered as without meltproof', async () => {
  for (const arm of ['bare', 'protected']) {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--expose-gc', '--max-old-space-size=512', '--input-type=module', '-e', SERVER, arm],
      { timeout: 60_000 },
    )
    assert.deepEqual(JSON.parse(stdout), { 200: 100 }, arm)
  }
})
