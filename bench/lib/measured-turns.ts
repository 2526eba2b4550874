/** Alternating load runs on real servers, each started anew, like `compare --a --b`. */
import { fileURLToPath } from 'node:url'
import type { Side } from '../../packages/lab/src/compare/compare.ts'
import { resultOf } from '../../packages/lab/src/compare/comparable.ts'
import { takeTurn, type TurnLoad } from '../../packages/lab/src/compare/take-turns.ts'
import { makeContext } from '../../packages/lab/src/experiment/context.ts'
import { allowedCores, coresOf, pinSelf } from '../../packages/lab/src/launch/core-pinning.ts'
import { progressOn } from '../../packages/lab/src/progress.ts'
import type { AttackDocument } from '../../packages/lab/src/results/attack-document.ts'

export const LOAD: TurnLoad = {
  path: '/',
  load: { users: 5, durationMs: 400, timeoutMs: 10_000, method: 'GET' },
  warmUpMs: 200,
  startTimeoutMs: 10_000,
  labVersion: 'bench',
}

/** About 1 ms of work. */
const HASHES = 400

/** A server that works `slower` times as long as the usual one. */
const commandOf = (slower: number): string[] => [
  process.execPath,
  fileURLToPath(new URL('hashing-server.mjs', import.meta.url)),
  String(Math.round(HASHES * slower)),
]

/** Runs rounds of all `arms` (factors of slowness) until `until` (ms since 1970). Returns the documents of each arm. */
export async function measureTurns<Arms extends readonly number[]>(
  arms: Arms,
  until: number,
): Promise<{ readonly [At in keyof Arms]: readonly AttackDocument[] }> {
  const cores = coresOf(allowedCores())
  if (cores !== undefined) pinSelf(cores.lab)
  const progress = progressOn(process.stderr)
  const { context, end } = makeContext({ form: 'full', signal: new AbortController().signal, progress, cores })
  const documents: AttackDocument[][] = arms.map(() => [])
  try {
    for (let round = 0; Date.now() < until; round++) {
      // The order rotates and reverses, so that each arm goes first, and follows each other arm, equally often.
      const order = arms.map((_, at) => (round % 2 === 0 ? at : arms.length - 1 - at))
      const first = Math.floor(round / 2) % arms.length
      for (const at of [...order.slice(first), ...order.slice(0, first)]) {
        const name = `arm ${at}`
        const subject = { command: commandOf(arms[at]!) }
        documents[at]!.push(await takeTurn(context, subject, { name, label: `round ${round}, ${name}` }, LOAD))
      }
    }
  } finally {
    await end()
    progress.clear()
  }
  return documents as unknown as { readonly [At in keyof Arms]: readonly AttackDocument[] }
}

/** `rounds` runs of an arm, from `at` on. */
export function sideOf(name: string, documents: readonly AttackDocument[], at: number, rounds: number): Side {
  const results = documents.slice(at, at + rounds).map((document, round) => resultOf(`${name} ${round + 1}`, document))
  return { name, results }
}
