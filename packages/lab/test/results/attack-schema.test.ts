/** The published schema: the output of `attack --json` is valid, and no member may be missing or of another type. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLoad } from '../../src/load/run.ts'
import { attackDocument, attackJson } from '../../src/results/attack-document.ts'
import { faultOf } from '../../src/results/read-attack.ts'
import { httpServer, planFor } from '../load/servers.ts'
import { madeAttack, origin } from './made-attack.ts'

test('the document of a real run is valid', async () => {
  let asked = 0
  const server = await httpServer((_, res) => {
    asked++
    if (asked % 4 === 0) res.destroy()
    else res.writeHead([200, 503, 404][asked % 3]!).end('ok')
  })
  try {
    const plan = planFor(server.url, { headers: { accept: ['a', 'b'] }, body: 'x' })
    const document = attackDocument(plan, await runLoad(plan), origin)
    assert.equal(faultOf(JSON.parse(attackJson(document))), undefined)
    assert.deepEqual(Object.keys(document.certificate.intervals), ['ok', 'shed', 'other', 'failed'])
  } finally {
    await server.close()
  }
})

test('a document with a member missing or of another type is refused in one sentence', () => {
  const plans = [
    {},
    { plan: { connections: { kind: 'fresh' } as const } },
    { plan: { arrival: { kind: 'closed', users: 2, durationMs: 4000, thinkMs: 0 } as const } },
  ]
  let refused = 0
  for (const made of plans) {
    const document = JSON.parse(attackJson(madeAttack({ seconds: 1, shed: 1, ...made }))) as Record<string, unknown>
    assert.equal(faultOf(document), undefined)
    for (const path of pathsOf(document)) {
      for (const value of [undefined, null, -1, 0.5, 'x', [], {}, true]) {
        const fault = faultOf(changed(document, path, value))
        if (fault === undefined) continue
        assert.match(fault, /^\S.* must .+/)
        refused++
      }
    }
  }
  // A looser constraint in the schema lowers this number.
  assert.equal(refused, 4379)
})

/** The paths of every member, at every depth. */
function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [[name], ...pathsOf(member).map(path => [name, ...path])])
}

/** A copy with another value at the path. Undefined removes the member. */
function changed(document: unknown, path: readonly string[], value: unknown): unknown {
  const copy = structuredClone(document) as Record<string, unknown>
  let at = copy
  for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>
  const last = path.at(-1)!
  if (value !== undefined) at[last] = value
  else if (Array.isArray(at)) at.splice(Number(last), 1)
  else delete at[last]
  return copy
}
