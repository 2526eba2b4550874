/**
 * A worker with one counter, ADMITTED, that sends the sum of its cluster when the test asks. MACHINE sets its host
 * name. LEFT creates a socket file like one that an earlier process with the same id could not remove.
 */
import cluster from 'node:cluster'
import fs from 'node:fs'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { AllGuards } from '../../../src/cluster/all-guards.ts'
import { protect } from '../../../src/server/protect.ts'

const { LEFT, MACHINE } = process.env
if (MACHINE) os.hostname = () => MACHINE
if (LEFT) {
  const { mkdirSync } = fs
  fs.mkdirSync = (folder, options) => {
    mkdirSync(folder, options)
    fs.writeFileSync(`${folder}/${process.pid}.sock`, '')
  }
}
syncBuiltinESMExports()
const { Workers } = await import('../../../src/cluster/workers.ts')

const admitted = Number(process.env.ADMITTED)
const guard = protect(http.createServer())
const counted = {
  ...guard,
  stats: () => ({ ...guard.stats(), admitted, utilisation: admitted / 10, load: admitted / 5 }),
}
const all = new AllGuards(() => [counted])
const workers = new Workers(process.env.NAME, {
  all,
  families: [
    {
      ...{ name: 'admitted', help: '', type: 'counter', aggregator: 'sum' },
      samples: () => [{ suffix: '', labels: {}, value: admitted }],
    },
  ],
  explain: () => [],
  ready: () => true,
  holds: () => false,
  onUnreachable: why => process.send({ unreachable: String(why) }),
})
process.on('message', async () => {
  const { families, stats } = await workers.together()
  process.send({ admitted: families[0].samples()[0].value, stats })
})
process.send({ unreachable: undefined })
cluster.worker.on('disconnect', () => process.exit())
