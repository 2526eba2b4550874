/**
 * Random histories on real databases. The check finds no fault in them without meltproof, so a fault found with
 * meltproof is one of its wrappers. None is expected. `npm run histories` runs thousands; CI runs some hundred.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ARENAS, type Arena } from './arena.ts'
import { bareArm, boundArm } from './arm.ts'
import { BOUND } from './bound.ts'
import { runCampaign } from './campaign.ts'
import { type Departures, startDepartures } from './departures.ts'
import { DATABASES } from './installed-databases.ts'

// Apps send several queries at once on one client, although pg deprecates it.
process.noDeprecation = true

const SEED = 1
const CLEAN = 20

let open: Departures
let guarded: Departures

before(async () => {
  open = await startDepartures({ isProtected: false })
  guarded = await startDepartures({ isProtected: true })
})
after(async () => {
  await open?.stop()
  await guarded?.stop()
})

for (const { name, skip } of DATABASES) {
  describe(name, { skip }, () => {
    let arena: Arena
    before(async () => {
      arena = await ARENAS[name]!()
    })
    after(() => arena?.stop())

    test('without meltproof, the database has exactly what each history reported', async () => {
      const { ran, faults, counts } = await runCampaign(arena, [bareArm(open)], {
        seed: SEED,
        firstIndex: 0,
        parallel: 8,
        goesOn: started => started < CLEAN,
      })
      assert.equal(ran, CLEAN)
      assert.deepEqual(faults, [])
      // Proves that the histories write at all.
      assert.ok(counts.get('bare: writes expected there')! > CLEAN)
      assert.ok(counts.get('bare: writes expected absent')! > 0)
    })

    test('with bound(), deadlines and disconnects, the database has exactly what each history reported', async () => {
      const arm = boundArm('bound', BOUND[name]!, guarded)
      const { ran, faults, counts } = await runCampaign(arena, [arm], {
        seed: SEED,
        firstIndex: 0,
        parallel: 8,
        goesOn: started => started < CLEAN,
      })
      assert.equal(ran, CLEAN)
      assert.deepEqual(faults, [])
      // Proves that some users ran out of time. How many do depends on the machine.
      assert.ok(counts.get('bound: users that got an error')! > CLEAN / 10)
    })
  })
}
