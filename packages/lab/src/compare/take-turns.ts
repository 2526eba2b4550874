/** Sends the same load to two commands or servers in turns, A B, B A, A B: changes of the machine affect both. */
import type { Context } from '../experiment/scenario.ts'
import { checkAnswers } from '../launch/wait-until-listening.ts'
import { type LoadRequest, planOf } from '../load/load-request.ts'
import { type AttackDocument, attackDocument } from '../results/attack-document.ts'
import { originHere } from '../results/origin.ts'

export const SIDES = ['a', 'b'] as const
export type SideName = (typeof SIDES)[number]

/** A command to start, or the origin of a running server. */
export type Subject = { readonly command: readonly string[] } | { readonly origin: URL }

type WithoutUrl<Request> = Request extends unknown ? Omit<Request, 'url'> : never

export interface TurnLoad {
  readonly path: string
  readonly load: WithoutUrl<LoadRequest> & { readonly timeoutMs: number; readonly method: string }
  /** Duration of the load before the measured one. */
  readonly warmUpMs: number
  readonly startTimeoutMs: number
  readonly labVersion: string
}

export interface Turns extends TurnLoad {
  readonly subjects: Readonly<Record<SideName, Subject>>
  readonly rounds: number
  /** Ends the comparison early, after a complete round. */
  readonly isEnough: (round: number) => boolean
  readonly onResult: (side: SideName, round: number, document: AttackDocument) => void
}

export async function takeTurns(context: Context, turns: Turns): Promise<void> {
  const { subjects, rounds } = turns
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 1 ? SIDES : SIDES.toReversed()) {
      const name = side.toUpperCase()
      const label = `round ${round} of ${rounds}, ${name}`
      turns.onResult(side, round, await takeTurn(context, subjects[side], { name, label }, turns))
    }
    if (turns.isEnough(round)) return
  }
}

/** Starts a command, sends the load once and stops it; a running server only gets the load. */
export async function takeTurn(
  context: Context,
  subject: Subject,
  { name, label }: { readonly name: string; readonly label: string },
  { load, warmUpMs, path, startTimeoutMs, labVersion }: TurnLoad,
): Promise<AttackDocument> {
  const { method, headers = {}, body, tls } = load
  const asked = { method, headers, body, tls }
  const app =
    'origin' in subject
      ? running(name, subject.origin.origin)
      : await context.start({
          name,
          run: subject.command,
          core: 'server',
          tls,
          request: { ...asked, path },
          startTimeoutMs,
        })
  const url = new URL(path, app.origin).href
  await checkAnswers(app, new URL(url), asked, load.timeoutMs)
  await context.load(`${label}: warming up`, { ...load, url, durationMs: warmUpMs, warmUp: true })
  const request: LoadRequest = { ...load, url }
  const startedAt = new Date().toISOString()
  const outcome = await context.load(label, request)
  app.check()
  await app.stop()
  return attackDocument(planOf(request), outcome, originHere(labVersion, startedAt))
}

/** A server that the lab did not start is neither checked nor stopped. */
const running = (name: string, origin: string) => ({
  name: `${name} (${origin})`,
  origin,
  ended: () => undefined,
  lastWords: () => '',
  check() {},
  async stop() {},
})
