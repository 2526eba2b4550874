/**
 * Sends a burst to a server that was idle, and counts the answers: bare and protected, alternating. The default is
 * three seconds of work.
 *
 *   node bench/large-burst.ts [--rounds 3] [--requests 600] [--work 5]
 *
 * `--work` is the CPU time of a request, ms. For quick requests, such as 2,500 of 1 ms, accepting the connections takes
 * about as long as the requests.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { protect } from '../packages/meltproof/src/index.ts'
import { scriptOptions } from '../scripts/script-options.ts'

/** Idle time before the burst, ms, after which meltproof treats the burst as a new load. */
const REST_MS = 6000

if (process.send !== undefined) serve(process.argv[2] === 'protected', Number(process.argv[3]))
else {
  const { whole } = scriptOptions(import.meta.filename, {
    rounds: { type: 'string', default: '3' },
    requests: { type: 'string', default: '600' },
    work: { type: 'string', default: '5' },
  })
  for (let round = 0; round < whole('rounds'); round++) {
    for (const arm of ['bare', 'protected']) await measure(arm, whole('requests'), whole('work'))
  }
}

function serve(isProtected: boolean, workMs: number): void {
  const server = http.createServer((_request, response) => {
    for (const until = performance.now() + workMs; performance.now() < until; );
    response.end('done')
  })
  if (isProtected) protect(server)
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
}

async function measure(arm: string, requests: number, workMs: number): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), [arm, String(workMs)])
  const [port] = (await once(child, 'message')) as [number]
  const agent = new http.Agent({ keepAlive: true, maxSockets: requests })
  const ask = async (): Promise<{ status: number; ms: number }> => {
    const askedAt = performance.now()
    const [response] = (await once(http.get({ port, host: '127.0.0.1', agent }), 'response')) as [http.IncomingMessage]
    await once(response.resume(), 'end')
    return { status: response.statusCode!, ms: performance.now() - askedAt }
  }
  // V8 compiles the handler.
  for (let i = 0; i < 100; i++) await ask()
  await sleep(REST_MS)
  const answers = await Promise.all(Array.from({ length: requests }, ask))
  const good = answers.filter(({ status }) => status === 200)
  const within = (ms: number): number => good.filter(answer => answer.ms <= ms).length
  console.log(
    `${arm}: ${good.length} answered, ${within(1000)} in 1 s, ${within(2100)} in 2.1 s, ${requests - good.length} shed`,
  )
  agent.destroy()
  child.kill()
}
