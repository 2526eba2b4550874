/** Derives the expected content of a database from the outcomes that its users saw. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Jobs } from './jobs.ts'
import { Ledger, type Outcome, type Transaction } from './ledger.ts'

const there = (...ids: number[]): Map<number, number> => new Map(ids.map(id => [id, 1]))

/** Two writes of one transaction. */
function pair(commit: Outcome): { ledger: Ledger; transaction: Transaction } {
  const ledger = new Ledger()
  const transaction = ledger.begin()
  for (let i = 0; i < 2; i++) ledger.write('user 1', transaction).outcome = 'done'
  transaction.commit = commit
  return { ledger, transaction }
}

test('a write reported as done is there exactly once, a refused one is not, an unknown one may be', () => {
  const ledger = new Ledger()
  for (const outcome of ['done', 'refused', 'unknown'] as const) ledger.write('user 1').outcome = outcome
  assert.deepEqual(ledger.faults(there(1)), [])
  assert.deepEqual(ledger.faults(there(1, 3)), [])
  assert.match(ledger.faults(there(3)).join(), /^lost: user 1 wrote 1, reported as done; it is not there$/)
  assert.match(ledger.faults(there(1, 2)).join(), /^undead: user 1 wrote 2, reported as refused/)
  assert.match(ledger.faults(new Map([[1, 2]])).join(), /^doubled: .* it is there 2 times$/)
  assert.match(ledger.faults(there(1, 4)).join(), /^invented: write 4/)
})

test('writes of a transaction share the fate of its COMMIT, and are never there in part', () => {
  assert.deepEqual(pair('done').ledger.faults(there(1, 2)), [])
  assert.match(pair('done').ledger.faults(there(1)).join(), /^lost: .*wrote 2/)
  for (const commit of ['pending', 'refused'] as const) {
    assert.deepEqual(pair(commit).ledger.faults(there()), [])
    assert.equal(pair(commit).ledger.faults(there(1, 2)).length, 2)
  }
  assert.deepEqual(pair('unknown').ledger.faults(there()), [])
  assert.deepEqual(pair('unknown').ledger.faults(there(1, 2)), [])
  assert.deepEqual(pair('unknown').ledger.faults(there(2)), ['torn: transaction 1 is there with 1 of 2 writes'])
})

test('a write undone by a savepoint is not there, unless the outcome is unknown', () => {
  const { ledger } = pair('done')
  ledger.writes[1]!.undone = 'done'
  assert.deepEqual(ledger.faults(there(1)), [])
  assert.match(ledger.faults(there(1, 2)).join(), /^undead: .*ROLLBACK TO as done, its COMMIT as done/)
  ledger.writes[1]!.undone = 'unknown'
  assert.deepEqual(ledger.faults(there(1, 2)), [])
})

test('a job is delivered once or waits, and one pop in doubt explains one missing job', () => {
  const jobs = new Jobs()
  const ids = jobs.make('user 1', 3)
  assert.deepEqual(ids, [1, 2, 3])
  jobs.pushed(ids, 'done')
  jobs.got(1, 'user 2')
  assert.deepEqual(jobs.faults([2], [3]), [])
  assert.deepEqual(jobs.faults([2], [1, 3]), [], 'claimed, and not crossed off yet')
  assert.match(jobs.faults([2], []).join(), /^lost: job 3/)
  assert.match(jobs.faults([1, 2, 3], []).join(), /^doubled: job 1/)
  jobs.inDoubt = 1
  assert.deepEqual(jobs.faults([2], []), [])
  assert.equal(jobs.faults([], []).length, 1)
})
