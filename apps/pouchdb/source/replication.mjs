// Lets the app replicate one of its databases into another continuously, and writes after long silences.
import { setTimeout as sleep } from 'node:timers/promises'

const origin = process.env.ORIGIN
const SILENCE_MS = 14_000
const ARRIVES_MS = 10_000

async function call(method, path, body) {
  const answer = await fetch(origin + path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: await answer.json() }
}

await call('PUT', '/from')
await call('PUT', '/to')
const begun = await call('POST', '/_replicate', { source: `${origin}/from`, target: `${origin}/to`, continuous: true })
if (begun.status >= 300) throw new Error(`the replication did not begin: ${JSON.stringify(begun)}`)
for (const id of ['at-once', 'after-a-silence', 'after-another']) {
  if (id !== 'at-once') await sleep(SILENCE_MS)
  await call('PUT', `/from/${id}`, { written: true })
  const until = Date.now() + ARRIVES_MS
  while ((await call('GET', `/to/${id}`)).status !== 200) {
    if (Date.now() > until) throw new Error(`${id} was not replicated within ${ARRIVES_MS} ms`)
    await sleep(100)
  }
  console.log(`${id} was replicated`)
}
