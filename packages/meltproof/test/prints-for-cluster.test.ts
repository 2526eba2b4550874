/** Only one process of a cluster prints what is the same in all of them. */
import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { after, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { printsForCluster } from '../src/loaded.ts'

cluster.setupPrimary({ exec: fileURLToPath(new URL('printing-worker.mjs', import.meta.url)), execArgv: [] })
after(() => {
  for (const worker of Object.values(cluster.workers!)) worker!.process.kill('SIGKILL')
})

/** Returns whether the next worker prints. Worker ids begin at 1. */
async function next(env: Record<string, string> = {}): Promise<boolean> {
  const [prints] = (await once(cluster.fork(env), 'message')) as [boolean]
  return prints
}

it('a process outside a cluster and the first worker print; later workers do not', async () => {
  assert.equal(printsForCluster(), true)
  assert.deepEqual([await next(), await next(), await next()], [true, false, false])
})

it('instance 0 of a PM2 app prints, whatever its id, and each worker if the app has renamed the variable', async () => {
  const instance = (number: string): Record<string, string> => ({ pm_id: '7', NODE_APP_INSTANCE: number })
  assert.deepEqual([await next(instance('0')), await next(instance('1'))], [true, false])
  assert.equal(await next({ pm_id: '7' }), true)
})
