/** Classifies statements by their text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cleansUp,
  mayChangeSession,
  mustFinish,
  nameOf,
  rollsBack,
  tidiesSession,
} from '../../src/databases/statement-text.ts'

const holds = (says: (text: string) => boolean, yes: readonly string[], no: readonly string[]): void => {
  for (const text of yes) {
    assert.equal(says(text), true, text)
    assert.equal(says(`  /* route: "/x" */ -- by the ORM\n${text.toLowerCase()} /* later */`), true, text)
  }
  for (const text of no) assert.equal(says(text), false, text)
}

test('rollsBack() recognises ROLLBACK in all its forms, and nothing that only looks like it', () => {
  holds(
    rollsBack,
    ['ROLLBACK', 'ROLLBACK;', 'ROLLBACK WORK', 'ROLLBACK TO SAVEPOINT a', 'ABORT', "XA END 'x'", "XA ROLLBACK 'x'"],
    [
      'COMMIT',
      "ROLLBACK PREPARED 'x'",
      '/* ROLLBACK */ COMMIT',
      '-- ROLLBACK\nCOMMIT',
      'rollbacks',
      '',
      '/* never closed',
    ],
  )
})

test('cleansUp() and mustFinish() recognise cleanup and BEGIN, and no other statements', () => {
  const cleanup = ['COMMIT', 'END', 'RELEASE SAVEPOINT a', 'RESET ALL', 'SELECT pg_advisory_unlock(1)', 'UNLOCK TABLES']
  const work = ['SELECT 1', 'INSERT INTO commits VALUES (1)', 'UPDATE a SET b = 1', 'WITH a AS (SELECT 1) SELECT 1']
  holds(cleansUp, [...cleanup, "SELECT RELEASE_LOCK('a')"], [...work, 'BEGIN'])
  holds(mustFinish, [...cleanup, 'BEGIN', 'START TRANSACTION READ ONLY', 'SAVEPOINT a'], work)
})

test('tidiesSession() allows nothing that commits a broken transaction', () => {
  holds(
    tidiesSession,
    ['SET search_path TO DEFAULT', 'RESET ROLE', 'SET @a = NULL', "SELECT RELEASE_LOCK('a')", 'DROP TEMPORARY TABLE a'],
    [
      'SET autocommit = 1',
      'SET @@session.autocommit = ON',
      'SET @a = 1, autocommit = 1',
      'UNLOCK TABLES',
      'COMMIT',
      'DROP TABLE a',
    ],
  )
})

test('mayChangeSession() recognises statements whose effect on the session outlives them', () => {
  holds(
    mayChangeSession,
    [
      'SET a = 1',
      'LISTEN news',
      'CREATE TEMPORARY TABLE a (n int)',
      'SELECT pg_advisory_lock(1)',
      "SELECT GET_LOCK('a', 1)",
      "SELECT set_config('a', 'b', false)",
    ],
    ['SELECT 1', 'INSERT INTO a VALUES (1)', 'SELECT pg_advisory_xact_lock(1)', 'SELECT locked FROM a'],
  )
})

test('a statement that failed may have changed the session only by taking a lock', () => {
  holds(
    text => mayChangeSession(text, true),
    [
      'SELECT a FROM jobs WHERE pg_try_advisory_lock(a)',
      'SELECT pg_advisory_lock_shared(1)',
      "SELECT GET_LOCK('a', 1)",
    ],
    ['SELECT pg_advisory_xact_lock(1)', "SELECT set_config('a', 'b', false)", 'SET a = 1', 'LISTEN news'],
  )
})

test('nameOf() returns only the first word of a statement', () => {
  assert.equal(nameOf('/* who */ insert into a values (1)'), 'INSERT')
  assert.equal(nameOf(''), 'statement')
})

test('a text of a million characters is read within five seconds', () => {
  const startMs = performance.now()
  for (const text of ['/*'.repeat(500_000), ' '.repeat(1_000_000), '-- a\n'.repeat(200_000)]) cleansUp(text)
  assert.ok(performance.now() - startMs < 5000)
})
