/** Random histories find faulty wrappers. The result is the same on every Node, so CI runs this file on one version. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ARENAS, type Arena } from './arena.ts'
import { type Arm, boundArm } from './arm.ts'
import { brokenMysql, brokenPg, brokenRedis, type Treatment } from './broken.ts'
import { runCampaign } from './campaign.ts'
import { type Departures, startDepartures } from './departures.ts'
import { DATABASES } from './installed-databases.ts'

// Apps send several queries at once on one client, although pg deprecates it.
process.noDeprecation = true

/** Number of histories that are tried. A fault shows within some dozens of them. */
const MOST = 1500

/** Short, because a hang in a broken wrapper never ends, ms. */
const PATIENCE_MS = 2000

let guarded: Departures

before(async () => {
  guarded = await startDepartures({ isProtected: true })
})
after(() => guarded?.stop())

const treating = (pattern: RegExp, treatment: Treatment): Arm['bind'] =>
  brokenPg(sql => (pattern.test(sql) ? treatment : undefined))
/** Faulty wrappers, and the kind of fault that each must show. */
const BROKEN: Readonly<Record<string, readonly { does: string; kind: string; bind: Arm['bind'] }[]>> = {
  pg: [
    { does: 'refuses COMMIT and ROLLBACK', kind: 'lost', bind: treating(/^(commit|rollback)/i, 'refused') },
    { does: 'pretends to COMMIT', kind: 'lost', bind: treating(/^commit/i, 'pretended') },
    { does: 'carries out what it refuses', kind: 'undead', bind: treating(/^insert/i, 'sent, and refused') },
    { does: 'tries again', kind: 'doubled', bind: treating(/^insert/i, 'sent twice') },
    {
      does: 'refuses to reset settings',
      kind: 'leaked',
      bind: treating(/^(reset|drop|deallocate|unlisten)/, 'refused'),
    },
    { does: 'refuses to unlock', kind: 'locked', bind: treating(/unlock/, 'refused') },
  ],
  mysql: [
    { does: 'refuses COMMIT and ROLLBACK', kind: 'lost', bind: brokenMysql(sql => /^(commit|rollback)/i.test(sql)) },
    { does: 'refuses to reset settings', kind: 'leaked', bind: brokenMysql(sql => /(= null|= default)$/.test(sql)) },
    { does: 'refuses to unlock', kind: 'locked', bind: brokenMysql(sql => /release_lock/.test(sql)) },
  ],
  redis: [
    { does: 'refuses EXEC and DISCARD', kind: 'garbled', bind: brokenRedis(['exec', 'discard']) },
    { does: 'gives up BLPOP and drops its answer', kind: 'lost', bind: brokenRedis(['blpop']) },
    { does: 'refuses to unlock', kind: 'locked', bind: brokenRedis(['eval']) },
    { does: 'refuses QUIT', kind: 'leaked', bind: brokenRedis(['quit']) },
  ],
}

for (const { name, skip } of DATABASES) {
  describe(name, { skip }, () => {
    let arena: Arena
    before(async () => {
      arena = await ARENAS[name]!()
    })
    after(() => arena?.stop())

    for (const { does, kind, bind } of BROKEN[name]!) {
      test(`random histories find a wrapper that ${does}`, async () => {
        const arm = boundArm('broken', bind, guarded, PATIENCE_MS)
        let found: number | undefined
        const { faults } = await runCampaign(arena, [arm], {
          seed: 1,
          firstIndex: 0,
          parallel: 8,
          goesOn: started => found === undefined && started < MOST,
          onFault: fault => {
            if (fault.lines.some(line => line.startsWith(`${kind}:`))) found ??= fault.index
          },
        })
        assert.notEqual(found, undefined, `no history was ${kind}: ${JSON.stringify(faults.slice(0, 3))}`)
      })
    }
  })
}
