/** How long `meltlab audit` requests a slow path alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Users } from '../../src/audit/users.ts'
import { httpServer } from '../load/servers.ts'

const LEAST = 3

async function askedAlone(partMs: number, longestMs: number): Promise<number> {
  const slow = await httpServer((_, response) => void setTimeout(() => response.end('ok'), 200))
  const users = new Users(new URL(slow.url).origin, ['/'], { method: 'GET', headers: {}, body: undefined })
  try {
    await users.askEach(partMs, LEAST, longestMs, () => {})
    return users.answers
  } finally {
    users.close()
    await slow.close()
  }
}

test('a slow path gets the requests needed to judge it, within its part of the time or the maximum', async () => {
  assert.equal(await askedAlone(1, 10_000), LEAST, 'the longest time suffices')
  assert.equal(await askedAlone(1, 300), 2, 'it does not suffice')
  assert.ok((await askedAlone(1500, 300)) >= LEAST, 'a longer duration suffices')
})
